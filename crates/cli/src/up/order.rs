//! What can be typed while the group runs.

/// An order; nodes are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Kill(usize),
    Pause(usize),
    Revive(usize),
    Leave(usize),
    Add,
    Members,
    Help,
    Quit,
    Nothing,
}

pub(crate) const HELP: &str = "\
  k N   kill node N: it stops without a goodbye
  p N   pause node N, as if its process were frozen
  r N   revive a killed node in a later life, or resume a paused one
  l N   let node N leave with a goodbye
  a     add a node
  m     members, as the first running node sees them
  q     quit: all say goodbye";

/// Reads `k 3`, `k3`, `kill 3` or `kill node-3`.
pub(crate) fn parse(line: &str) -> Result<Order, String> {
    let line = line.trim();
    let verb: String = line.chars().take_while(char::is_ascii_alphabetic).collect();
    let rest = line[verb.len()..].trim();
    let node = || {
        let number = rest.strip_prefix("node-").unwrap_or(rest);
        match number.parse() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(format!("which node? Write {verb} 3")),
        }
    };
    let alone = |order| match rest {
        "" => Ok(order),
        _ => Err(format!("{verb} takes nothing more")),
    };
    match verb.to_ascii_lowercase().as_str() {
        "" if rest.is_empty() => Ok(Order::Nothing),
        "k" | "kill" => node().map(Order::Kill),
        "p" | "pause" => node().map(Order::Pause),
        "r" | "revive" | "resume" => node().map(Order::Revive),
        "l" | "leave" => node().map(Order::Leave),
        "a" | "add" => alone(Order::Add),
        "m" | "members" => alone(Order::Members),
        "h" | "help" => alone(Order::Help),
        "q" | "quit" | "exit" => alone(Order::Quit),
        _ => Err("not understood; h shows what can be typed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_forms_are_read_and_mistakes_answered() {
        for text in ["k 3", "k3", " kill 3 ", "KILL node-3"] {
            assert_eq!(parse(text), Ok(Order::Kill(3)), "{text}");
        }
        assert_eq!(parse("resume 2"), Ok(Order::Revive(2)));
        assert_eq!(parse(""), Ok(Order::Nothing));
        for text in ["k", "k 0", "k x", "a 3", "?", "7", "fly", "é 3"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
