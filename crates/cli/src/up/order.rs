//! The orders that can be typed while the group runs, and that the dashboard can send.

use serde::Deserialize;

/// The lock that is taken unless another one is named.
pub(super) const LOCK: &str = "demo";

/// The default share of datagrams that a lossy node loses, and the default delay of a slow one.
pub(super) const PERCENT: u8 = 30;
pub(super) const DELAY_MS: u16 = 200;

/// An order, typed or sent by the dashboard as `{"do": "kill", "node": 3}`; nodes are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Order {
    Kill {
        node: usize,
    },
    Pause {
        node: usize,
    },
    /// Restarts a killed node, or resumes a paused one.
    Revive {
        node: usize,
    },
    Leave {
        node: usize,
    },
    /// Cuts a node off from all others.
    Isolate {
        node: usize,
    },
    /// Cuts these nodes off from the others.
    Partition {
        nodes: Vec<usize>,
    },
    /// Ends all network faults.
    Heal {},
    Lose {
        node: usize,
        #[serde(default = "percent")]
        percent: u8,
    },
    Slow {
        node: usize,
        #[serde(default = "delay_ms")]
        ms: u16,
    },
    Add {},
    /// Takes a lock and holds it.
    Lock {
        node: usize,
        #[serde(default = "lock_name")]
        name: String,
    },
    /// Releases a lock.
    Unlock {
        node: usize,
        #[serde(default = "lock_name")]
        name: String,
    },
    Campaign {
        node: usize,
    },
    Withdraw {
        node: usize,
    },
    Resign {
        node: usize,
    },
    #[serde(skip)]
    Members,
    #[serde(skip)]
    Help,
    #[serde(skip)]
    Quit,
    #[serde(skip)]
    Nothing,
}

fn percent() -> u8 {
    PERCENT
}

fn delay_ms() -> u16 {
    DELAY_MS
}

fn lock_name() -> String {
    LOCK.to_owned()
}

pub(crate) const HELP: &str = "\
  k N         kill node N: it stops without a goodbye
  p N         pause node N, as if its process were frozen
  r N         revive a killed node in a later life, or resume a paused one
  l N         let node N leave with a goodbye
  i N         isolate node N: it hears nobody and nobody hears it
  x N N ...   partition: these nodes on one side, all others on the other
  heal        end partition, isolation, loss and delay
  d N [30]    drop datagrams of node N, so many percent; 0 ends it
  s N [200]   slow: datagrams of node N are so many milliseconds late; 0 ends it
  t N [demo]  take a lock at node N and hold it
  g N [demo]  give it back
  c N         campaign: node N stands in the election
  w N         withdraw: node N stops standing
  resign N    node N stops leading
  a           add a node
  m           members, as the first running node sees them
  q           quit: all say goodbye";

/// Parses `k 3`, `k3`, `kill 3` or `kill node-3`.
pub(crate) fn parse(line: &str) -> Result<Order, String> {
    let line = line.trim();
    let verb: String = line.chars().take_while(char::is_ascii_alphabetic).collect();
    let rest: Vec<&str> = line[verb.len()..].split_whitespace().collect();
    let number = |text: &&str| {
        let number = text.strip_prefix("node-").unwrap_or(text);
        match number.parse() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(format!("which node? Write {verb} 3")),
        }
    };
    let most = |n: usize| match rest.len() <= n {
        true => Ok(()),
        false => Err(format!("{verb} takes nothing more")),
    };
    let node = || most(1).and_then(|()| number(rest.first().unwrap_or(&"")));
    let alone = |order| most(0).map(|()| order);
    let node_and = || -> Result<(usize, Option<&str>), String> {
        most(2)?;
        Ok((number(rest.first().unwrap_or(&""))?, rest.get(1).copied()))
    };
    match verb.to_ascii_lowercase().as_str() {
        "" if rest.is_empty() => Ok(Order::Nothing),
        "k" | "kill" => Ok(Order::Kill { node: node()? }),
        "p" | "pause" => Ok(Order::Pause { node: node()? }),
        "r" | "revive" | "resume" => Ok(Order::Revive { node: node()? }),
        "l" | "leave" => Ok(Order::Leave { node: node()? }),
        "i" | "isolate" => Ok(Order::Isolate { node: node()? }),
        "x" | "partition" => {
            let nodes = rest.iter().map(number).collect::<Result<Vec<_>, _>>();
            match nodes.map_err(|_| format!("which nodes? Write {verb} 4 5"))? {
                nodes if nodes.is_empty() => Err(format!("which nodes? Write {verb} 4 5")),
                nodes => Ok(Order::Partition { nodes }),
            }
        }
        "heal" => alone(Order::Heal {}),
        "d" | "drop" | "lose" => {
            let (node, percent) = node_and()?;
            let percent = percent.map_or(Ok(PERCENT), str::parse);
            let percent = percent.map_err(|_| format!("how many percent? Write {verb} 3 30"))?;
            Ok(Order::Lose { node, percent })
        }
        "s" | "slow" => {
            let (node, ms) = node_and()?;
            let ms = ms.map_or(Ok(DELAY_MS), str::parse);
            let ms = ms.map_err(|_| format!("how many milliseconds? Write {verb} 3 200"))?;
            Ok(Order::Slow { node, ms })
        }
        "t" | "take" | "lock" => {
            let (node, name) = node_and()?;
            let name = name.unwrap_or(LOCK).to_owned();
            Ok(Order::Lock { node, name })
        }
        "g" | "give" | "unlock" => {
            let (node, name) = node_and()?;
            let name = name.unwrap_or(LOCK).to_owned();
            Ok(Order::Unlock { node, name })
        }
        "c" | "campaign" => Ok(Order::Campaign { node: node()? }),
        "w" | "withdraw" => Ok(Order::Withdraw { node: node()? }),
        "resign" => Ok(Order::Resign { node: node()? }),
        "a" | "add" => alone(Order::Add {}),
        "m" | "members" => alone(Order::Members),
        "h" | "help" => alone(Order::Help),
        "q" | "quit" | "exit" => alone(Order::Quit),
        _ => Err("not understood; h shows what can be typed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn short_and_long_forms_are_read_and_mistakes_answered() {
        for text in ["k 3", "k3", " kill 3 ", "KILL node-3"] {
            assert_eq!(parse(text), Ok(Order::Kill { node: 3 }), "{text}");
        }
        assert_eq!(parse("resume 2"), Ok(Order::Revive { node: 2 }));
        assert_eq!(parse(""), Ok(Order::Nothing));
        let nodes = vec![4, 5];
        assert_eq!(parse("partition 4 node-5"), Ok(Order::Partition { nodes }));
        let percent = 30;
        assert_eq!(parse("d 2"), Ok(Order::Lose { node: 2, percent }));
        assert_eq!(parse("s2 50"), Ok(Order::Slow { node: 2, ms: 50 }));
        let name = "door".to_owned();
        assert_eq!(parse("t 2 door"), Ok(Order::Lock { node: 2, name }));
        for text in [
            "k", "k 0", "k x", "k 1 2", "a 3", "?", "7", "fly", "é 3", "x", "x 1 y", "heal 3",
            "d 3 300", "s 3 x", "t", "t 1 a b",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn orders_come_as_json_too_and_none_of_them_quits() {
        let read = |order| serde_json::from_value::<Order>(order).ok();
        let kill = read(json!({"do": "kill", "node": 3}));
        assert_eq!(kill, Some(Order::Kill { node: 3 }));
        let (node, percent) = (3, 30);
        let lose = read(json!({"do": "lose", "node": 3}));
        assert_eq!(lose, Some(Order::Lose { node, percent }));
        assert_eq!(read(json!({"do": "heal"})), Some(Order::Heal {}));
        for order in [
            json!({"do": "quit"}),
            json!({"do": "Quit"}),
            json!({"do": "kill"}),
            json!({"do": "kill", "node": -1}),
            json!({"do": "kill", "node": 3, "hard": true}),
            json!(null),
        ] {
            assert_eq!(read(order.clone()), None, "{order}");
        }
    }
}
