//! Agents that know their neighbours: a row of three elects its middle, falls apart and merges again. Once with
//! peers that are named and a relay that can be cut, and once with nothing named at all, in network namespaces.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "a test needs std; naming alloc would tell nothing"
)]

mod common;

use common::{Agent, consort, run, until};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// What only these tests ask of an agent.
trait Looks {
    fn json(&self, args: &[&str]) -> Value;
    fn hub(&self) -> Option<(String, u64)>;
}

impl Looks for Agent {
    fn json(&self, args: &[&str]) -> Value {
        let output = run(&[args, &["--format", "json", "--http", &self.http]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {said}"))
    }

    /// Who leads its component, having said so, and how many nodes are in it.
    fn hub(&self) -> Option<(String, u64)> {
        let view = self.json(&["leader", "hub"]);
        let leader = &view["leader"];
        let claimed = leader["stage"] == "confirmed" && view["scope"]["settled"] == true;
        let name = leader["name"].as_str().filter(|_| claimed)?.to_owned();
        Some((name, view["scope"]["size"].as_u64()?))
    }
}

/// Waits until each of `agents` follows a leader in a component of that many nodes.
fn until_hubs(what: &str, agents: &[Agent], hubs: [(&str, u64); 3]) {
    until(what, || {
        let seen: Vec<_> = agents.iter().map(Looks::hub).collect();
        let want = hubs.map(|(name, size)| Some((name.to_owned(), size)));
        (seen == want).then_some(())
    });
}

/// A path between two addresses that can be cut: what is sent to one end comes out of the other.
struct Relay {
    /// Where the first and the second one send to.
    ends: [SocketAddr; 2],
    open: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl Relay {
    fn between(nodes: [SocketAddr; 2]) -> Relay {
        let sockets = [0; 2].map(|_| Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap()));
        let ends = [0, 1].map(|n| sockets[n].local_addr().unwrap());
        let (open, over) = (
            Arc::new(AtomicBool::new(true)),
            Arc::new(AtomicBool::new(false)),
        );
        for at in 0..2 {
            let (from, to) = (Arc::clone(&sockets[at]), Arc::clone(&sockets[1 - at]));
            let (open, over) = (Arc::clone(&open), Arc::clone(&over));
            let patience = Some(Duration::from_millis(50));
            from.set_read_timeout(patience).unwrap();
            std::thread::spawn(move || {
                let mut bytes = [0; 2048];
                while !over.load(Ordering::Relaxed) {
                    let Ok((len, _)) = from.recv_from(&mut bytes) else {
                        continue;
                    };
                    if open.load(Ordering::Relaxed) {
                        let _ = to.send_to(&bytes[..len], nodes[1 - at]);
                    }
                }
            });
        }
        Relay { ends, open, over }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// An address on loopback that was free a moment ago.
fn free() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap()
}

/// Hellos often enough that a cut is found within a second.
fn settings(dir: &Path, id: u32) -> String {
    let path = dir.join(format!("{id}.toml"));
    let text = format!(
        "id = '{id}'\n[topology]\nenabled = true\nhello_period = '100ms'\n\
         [[election]]\nname = 'hub'\nmode = 'component'\n"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_row_of_three_elects_its_middle_falls_apart_and_merges() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let [a, b, c] = [0; 3].map(|_| free());
    let relay = Relay::between([b, c]);
    let peers = [vec![b], vec![a, relay.ends[0]], vec![relay.ends[1]]];
    let agents: Vec<Agent> = (0..3)
        .map(|n| {
            let settings = settings(dir, n as u32 + 1);
            let bind = [a, b, c][n].to_string();
            let mut command = consort(&["agent", "--config", &settings, "--bind", &bind]);
            for peer in &peers[n] {
                command.args(["--peer", &peer.to_string()]);
            }
            Agent::run(dir, ["a", "b", "c"][n], command)
        })
        .collect();
    until_hubs("the middle leads", &agents, [("b", 3); 3]);
    let ids = |view: &Value, key: &str| -> Vec<u64> {
        let ids = view[key].as_array().unwrap().iter();
        ids.map(|m| m["id"].as_str().unwrap().parse().unwrap())
            .collect()
    };
    let topology = agents[0].json(&["topology"]);
    assert_eq!(ids(&topology, "members"), [1, 2, 3]);
    let farness = topology["members"].as_array().unwrap().iter();
    let farness: Vec<_> = farness.map(|m| m["farness"].as_u64().unwrap()).collect();
    assert_eq!(farness, [3, 2, 3]);
    assert_eq!(topology["members"][1]["leads"][0], "hub");
    assert_eq!(topology["phantoms"], 0);
    let text = run(&["leader", "hub", "--http", &agents[0].http]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains("a component of 3 nodes, 100 % of the members"),
        "{text}"
    );
    let graph = run(&["topology", "--format", "dot", "--http", &agents[2].http]);
    let graph = String::from_utf8(graph.stdout).unwrap();
    assert!(
        graph.contains("[label=\"b\\nleads hub\", style=filled"),
        "{graph}"
    );
    assert_eq!(graph.matches(" -- ").count(), 2, "{graph}");

    // Both ends live, and all three stay members of one group: only the link is gone.
    relay.open.store(false, Ordering::Relaxed);
    until_hubs(
        "each part has a leader",
        &agents,
        [("b", 2), ("b", 2), ("c", 1)],
    );
    let topology = agents[0].json(&["topology"]);
    assert_eq!(
        (ids(&topology, "members"), ids(&topology, "apart")),
        (vec![1, 2], vec![3])
    );
    let view = agents[2].json(&["leader", "hub"]);
    assert_eq!(view["scope"]["share_percent"], 33, "{view}");
    assert_eq!(view["role"], "leader");
    assert!(view["acting"].is_string(), "two lead at a time: {view}");
    let text = run(&["topology", "--http", &agents[1].http]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("members out of reach: c"), "{text}");

    relay.open.store(true, Ordering::Relaxed);
    until_hubs("one leader again", &agents, [("b", 3); 3]);
    let view = agents[2].json(&["leader", "hub"]);
    assert!(view["acting"].is_null(), "{view}");
}

#[test]
fn elections_by_component_are_stood_in_from_the_command_line_and_mistakes_explained() {
    let dir = tempfile::tempdir().unwrap();
    let plain = Agent::start(dir.path(), "plain", None, &[]);
    for args in [&["topology"][..], &["elect", "hub", "--mode", "component"]] {
        let refused = run(&[args, &["--http", &plain.http]].concat());
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("topology"), "{said}");
    }
    let peer = free().to_string();
    let agent = Agent::start(dir.path(), "a", None, &["--peer", &peer]);
    let args = ["elect", "hub", "--mode", "component", "--http", &agent.http];
    let script = ["--", "sh", "-c", "echo $CONSORT_ELECTION $CONSORT_TERM"];
    let output = run(&[&args[..], &script].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!((said.trim(), output.status.code()), ("hub 1", Some(0)));
    let text = run(&["topology", "--format", "table", "--http", &agent.http]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.starts_with(&format!("no neighbours on {peer}")),
        "{text}"
    );
    assert!(text.contains("of 1 node\n"), "{text}");
    let bad = run(&["agent", "--topology=a b"]);
    let said = String::from_utf8(bad.stderr).unwrap();
    assert_eq!(bad.status.code(), Some(2));
    assert!(
        said.contains("topology.interfaces") && said.contains("wlan0"),
        "{said}"
    );
}

/// Three network namespaces in a row, each pair on a link of its own; gone with the test.
struct Row(Vec<String>);

impl Drop for Row {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

/// Runs `ip` with words separated by blanks; the error is what it said.
fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split(' ')).output();
    let output = output.map_err(|e| format!("ip cannot be run: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "ip {words}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

impl Row {
    /// The middle passes on what is sent to one address, and no multicast.
    fn new(family: &str) -> Result<Row, String> {
        let mut row = Row(Vec::new());
        for end in ["a", "b", "c"] {
            let name = format!("consort-{}-{family}-{end}", std::process::id());
            ip(&format!("netns add {name}"))?;
            row.0.push(name);
        }
        let [a, b, c] = &row.0[..] else {
            unreachable!()
        };
        for (n, (left, right)) in [(a, b), (b, c)].into_iter().enumerate() {
            ip(&format!(
                "-n {left} link add right type veth peer name left netns {right}"
            ))?;
            for (space, device, host) in [(left, "right", 1), (right, "left", 2)] {
                let addr = match family {
                    "v4" => format!("10.77.{n}.{host}/24"),
                    _ => format!("fd77:{n}::{host}/64 nodad"),
                };
                ip(&format!("-n {space} addr add {addr} dev {device}"))?;
                ip(&format!("-n {space} link set {device} up"))?;
            }
        }
        let (gates, forward) = match family {
            "v4" => (["10.77.0.2", "10.77.1.1"], "net.ipv4.ip_forward"),
            _ => (["fd77:0::2", "fd77:1::1"], "net.ipv6.conf.all.forwarding"),
        };
        for (space, gate) in [a, c].into_iter().zip(gates) {
            ip(&format!("-n {space} route add default via {gate}"))?;
        }
        for (key, value) in [(forward, 1), ("net.ipv6.conf.right.keep_addr_on_down", 1)] {
            ip(&format!("netns exec {b} sysctl -qw {key}={value}"))?;
        }
        Ok(row)
    }

    fn agent(&self, dir: &Path, n: usize, bind: &str) -> Agent {
        let settings = settings(dir, n as u32 + 1);
        let binary = consort(&[]).get_program().to_owned();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[n]]).arg(binary);
        command.args(["agent", "--config", &settings, "--bind", bind, "--insecure"]);
        Agent::run(dir, ["a", "b", "c"][n], command)
    }
}

fn finds_itself_in_namespaces(family: &str, bind: &str) {
    let row = match Row::new(family) {
        Ok(row) => row,
        Err(why) => {
            eprintln!("SKIPPED, it takes network namespaces: {why}");
            return;
        }
    };
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    // Nobody is told of anybody: no seeds, no peers, no interfaces.
    let agents: Vec<Agent> = (0..3).map(|n| row.agent(dir, n, bind)).collect();
    until_hubs("the middle leads", &agents, [("b", 3); 3]);
    until("all are members", || {
        let alive = |a: &Agent| a.info()["members"]["alive"] == 3;
        agents.iter().all(alive).then_some(())
    });
    let topology = agents[1].json(&["topology"]);
    assert_eq!(
        topology["interfaces"].as_array().unwrap().len(),
        2,
        "{topology}"
    );
    let links = topology["links"].as_array().unwrap().len();
    assert_eq!(
        links, 2,
        "what the middle passes on makes no neighbours: {topology}"
    );

    let down = format!("-n {} link set right down", row.0[1]);
    ip(&down).unwrap();
    until_hubs(
        "each part has a leader",
        &agents,
        [("b", 2), ("b", 2), ("c", 1)],
    );
    ip(&down.replace("down", "up")).unwrap();
    until_hubs("one leader again", &agents, [("b", 3); 3]);
}

#[test]
fn in_namespaces_a_row_finds_itself_by_ipv4() {
    finds_itself_in_namespaces("v4", "0.0.0.0:7717");
}

#[test]
fn in_namespaces_a_row_finds_itself_by_ipv6() {
    finds_itself_in_namespaces("v6", "[::]:7717");
}
