//! Leaders by component follow the attribute of their candidates.

use consort::topology::Topology;
use consort_agent::{Agent, Config, RawConfig, RawElection, RawMembership, RawTopology};
use core::time::Duration;
use std::net::UdpSocket;
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(30);

/// Longer than a change of leader takes.
const QUIET: Duration = Duration::from_millis(1500);

async fn start(name: &str, port: u16, peers: &[u16], battery: &str) -> Agent {
    let raw = RawConfig {
        name: Some(name.into()),
        bind: Some(format!("127.0.0.1:{port}")),
        http: Some("127.0.0.1:0".into()),
        tags: [("battery".into(), battery.into())].into(),
        election: vec![RawElection {
            name: "gateway".into(),
            mode: Some("component".into()),
            attribute_tag: Some("battery".into()),
            ..RawElection::default()
        }],
        topology: RawTopology {
            peers: peers.iter().map(|p| format!("127.0.0.1:{p}")).collect(),
            hello_period: Some(Duration::from_millis(150)),
            claim_after: Some(Duration::from_millis(300)),
            ..RawTopology::default()
        },
        membership: RawMembership {
            probe_period: Some(Duration::from_millis(150)),
            ..RawMembership::default()
        },
        ..RawConfig::default()
    };
    let config = Config::try_from(raw).unwrap();
    assert_ne!(config.topology, None::<Topology>);
    Agent::start(config).await.unwrap()
}

async fn charge(agent: &Agent, battery: u8) {
    let tags = [("battery".to_owned(), battery.to_string())].into();
    agent.node().set_tags(tags).await.unwrap();
}

/// The leader that all of them follow, once it has claimed the lead.
async fn leader(agents: &[Agent]) -> Option<String> {
    let mut names = Vec::new();
    for agent in agents {
        let status = agent.node().election_status("gateway").await.unwrap()?;
        names.push(status.leader?.name);
    }
    names.dedup();
    let [name] = &names[..] else { return None };
    let of = agents.iter().find(|a| a.node().name() == name)?;
    let election = of.node().election("gateway").await.unwrap();
    election.is_leader().then(|| name.clone())
}

async fn all_follow(agents: &[Agent], name: &str) {
    let start = Instant::now();
    loop {
        let now = leader(agents).await;
        if now.as_deref() == Some(name) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{now:?}, not {name}");
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// Three agents in one room. A sitting leader gives way to a much fuller battery, and to no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_follows_the_battery_when_the_difference_is_large() {
    let sockets = [(); 3].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let ports = sockets.each_ref().map(|s| s.local_addr().unwrap().port());
    drop(sockets);
    let mut agents = Vec::new();
    for (at, (name, battery)) in [("a", "95"), ("b", "5"), ("c", "5")]
        .into_iter()
        .enumerate()
    {
        let peers: Vec<u16> = ports.into_iter().filter(|p| *p != ports[at]).collect();
        agents.push(start(name, ports[at], &peers, battery).await);
    }
    all_follow(&agents, "a").await;
    charge(&agents[1], 90).await;
    charge(&agents[2], 40).await;
    // 78 to 90 is no reason; 12 to 90 is.
    charge(&agents[0], 78).await;
    tokio::time::sleep(QUIET).await;
    all_follow(&agents, "a").await;
    charge(&agents[0], 12).await;
    all_follow(&agents, "b").await;
    // It is charged again, and leads again only once the other is much worse.
    charge(&agents[0], 95).await;
    tokio::time::sleep(QUIET).await;
    all_follow(&agents, "b").await;
    charge(&agents[1], 40).await;
    all_follow(&agents, "a").await;
    for agent in agents {
        agent.kill().await;
    }
}
