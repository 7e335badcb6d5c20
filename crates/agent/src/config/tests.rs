//! Tests of settings.

use super::*;
use consort::membership::{DistanceSource, SuspicionTimeout, TargetPolicy};
use core::time::Duration;

fn config(text: &str) -> Result<Config, String> {
    let raw: RawConfig = toml::from_str(text).map_err(|e| e.to_string())?;
    Config::try_from(raw).map_err(|e| e.to_string())
}

#[test]
fn a_full_file_is_read() {
    let text = r#"
        name = "robot-7"
        id = "c0ffee"
        group = "yard"
        profile = "mesh"
        bind = "127.0.0.1:0"
        advertise = "10.0.0.7"
        join = ["10.0.0.5:7717", "seed.local"]
        http = "unix:/run/consort.sock"
        state = "/var/lib/consort"
        [tags]
        role = "camera"
        battery = "80"
        [membership]
        probe_period = "800ms"
        suspicion_factor = 3
        [elections]
        quorum = { c = 3 }
        bootstrap_expect = 2
        lease = "1500ms"
        floor = 5
        [[election]]
        name = "gateway"
        class = 1
        attribute_tag = "battery"
        preempt = "margin"
        delta = 2
        hold = "30s"
        [[election]]
        name = "clock"
        campaign = false
        [[election]]
        name = "hub"
        mode = "component"
        [[election]]
        name = "sink"
        score = ["centrality", "attribute"]
        attribute = 3
        [topology]
        interfaces = ["wlan0"]
        hello_period = "1s"
    "#;
    let config = config(text).unwrap();
    assert_eq!(config.id, Some(NodeId(0xc0ffee)));
    assert_eq!(config.advertise, Some("10.0.0.7:0".parse().unwrap()));
    assert_eq!(config.http, HttpAddr::Unix("/run/consort.sock".into()));
    assert_eq!(config.protocol.group, "yard");
    let hold = Duration::from_secs(30);
    let preempt = consort::election::Preempt::Margin { delta: 2, hold };
    let options = consort::election::ElectionOptions::new()
        .class(1)
        .attribute_tag(consort::election::AttributeTag::highest("battery"))
        .preempt(preempt);
    assert_eq!(config.elections[0].options, Some(options));
    assert_eq!(
        (
            config.elections[1].name.as_str(),
            config.elections[1].options.clone()
        ),
        ("clock", None)
    );
    let hub =
        consort::election::ElectionOptions::new().mode(consort::election::ElectionMode::Component);
    assert_eq!(config.elections[2].options, Some(hub));
    let ranking = [
        consort::election::Criterion::Centrality,
        consort::election::Criterion::Attribute,
    ];
    let ranking = consort::election::Ranking::new(&ranking).unwrap();
    let sink = consort::election::ElectionOptions::new()
        .attribute(3)
        .ranking(ranking);
    assert_eq!(config.elections[3].options, Some(sink));
    assert_eq!(config.topology, Some(Topology::new().interface("wlan0")));
    let hello_period = config.protocol.omega.hello_period;
    assert_eq!(hello_period, Duration::from_secs(1));
    assert_eq!(
        config.protocol.election.quorum,
        consort::election::Quorum::Deterministic { c: 3 }
    );
    assert_eq!(config.protocol.election.bootstrap_expect, 2);
    assert_eq!(config.protocol.election.lease, Duration::from_millis(1500));
    assert_eq!(config.protocol.election.floor, 5);
    let m = config.protocol.membership;
    assert_eq!(m.probe_period, Duration::from_millis(800));
    let timeout = SuspicionTimeout::Scaled {
        factor: 3,
        stretch: 6,
    };
    assert_eq!(m.suspicion_timeout, timeout);
    assert_eq!(
        m.route_convergence,
        Duration::from_secs(10),
        "of the profile"
    );
}

#[test]
fn members_can_be_probed_in_the_ways_of_the_papers() {
    let membership = |text: &str| {
        let raw: RawConfig = toml::from_str(&format!("[membership]\n{text}")).unwrap();
        Config::try_from(raw).unwrap()
    };
    for (word, policy) in [
        ("turns", TargetPolicy::Turns),
        ("stride", TargetPolicy::Stride),
        ("bag", TargetPolicy::BagPass),
        ("independent", TargetPolicy::Iid),
    ] {
        let config = membership(&format!("probe_policy = '{word}'"));
        assert_eq!(config.protocol.membership.probe_policy, policy);
    }
    for (word, source) in [
        ("coordinate", DistanceSource::Coordinate),
        ("latency", DistanceSource::Latency),
        ("position", DistanceSource::Position),
    ] {
        let config = membership(&format!("distance_source = '{word}'"));
        assert_eq!(config.protocol.membership.distance_source, source);
        assert_eq!(config.position, None);
    }
    let config = membership("distance_source = 'position'\nposition = [1.5, -2.0, 0.0]");
    assert_eq!(config.position, Some([1.5, -2.0, 0.0]));
    let config = membership("feedback_passive_per_mille = 50\npassive_timeout_periods = 9");
    let m = config.protocol.membership;
    assert_eq!(
        (m.feedback_passive_per_mille, m.passive_timeout_periods),
        (50, 9)
    );
}

#[test]
fn detection_is_that_of_the_profile() {
    let fast = |text: &str| {
        let raw: RawConfig = toml::from_str(text).unwrap();
        Config::try_from(raw).unwrap().protocol.membership.fast
    };
    let ms = Duration::from_millis;
    assert_eq!(fast("").map(|f| f.least), Some(ms(1500)));
    assert_eq!(fast("detection = 'fast'").map(|f| f.least), Some(ms(800)));
    assert_eq!(fast("detection = 'patient'"), None);
    let wifi = fast("profile = 'wifi'\ndetection = 'balanced'");
    assert_eq!(wifi.map(|f| f.least), Some(ms(2000)));
    assert_eq!(fast("profile = 'lora'\ndetection = 'fast'"), None);
}

#[test]
fn mistakes_are_named_with_what_would_be_right() {
    for (text, parts) in [
        ("nmae = 'x'", ["nmae", "name"]),
        ("profile = 'wireless'", ["wireless", "wifi"]),
        ("detection = 'slow'", ["slow", "patient"]),
        (
            "[membership]\nprobe_perid = '1s'",
            ["probe_perid", "probe_period"],
        ),
        (
            "[membership]\nprobe_period = 'soon'",
            ["probe_period", "soon"],
        ),
        (
            "[membership]\nprobe_period = '1ms'",
            ["probe_period", "10 ms"],
        ),
        (
            "[membership]\nprobe_policy = 'random'",
            ["`random`", "turns, stride, bag or independent"],
        ),
        (
            "[membership]\ndistance_source = 'given'",
            ["`given`", "coordinate, latency or position"],
        ),
        (
            "[membership]\nposition = [1.0, 2.0, 3.0]",
            ["membership.position", "distance_source"],
        ),
        (
            "[membership]\ndistance_source = 'position'\nposition = [1.0, 2.0, inf]",
            ["membership.position", "10000000"],
        ),
        (
            "[membership]\nfeedback_passive_per_mille = 1001",
            ["feedback_passive_per_mille", "1000"],
        ),
        ("bind = 'every where'", ["bind", "IP:PORT"]),
        ("bind = '10.0.0.1'", ["bind", "IP:PORT"]),
        ("bind = 'eth0:many'", ["bind", "eth0:7717"]),
        ("expect = 3", ["expect", "state"]),
        ("http = '7718'", ["http", "unix:PATH"]),
        ("id = 'xyz'", ["id", "hexadecimal"]),
        ("group = ''", ["group", "1 to 255"]),
        ("name = 7", ["name", "string"]),
        ("[[election]]\nnmae = 'x'", ["nmae", "name"]),
        ("[[election]]\nname = 'x'\nclass = 300", ["class", "300"]),
        (
            "[[election]]\nname = 'x'\npreempt = 'yes'",
            ["`x`", "never, margin or strict"],
        ),
        ("[[election]]\nname = 'x'\ndelta = 3", ["`x`", "preempt"]),
        (
            "[[election]]\nname = 'x'\nattribute_tag = 'battery'",
            ["`x`", "no tag `battery`"],
        ),
        (
            "[[election]]\nname = 'x'\nattribute_tag = 'b'\n[tags]\nb = 'full'",
            ["b = `full`", "no number"],
        ),
        (
            "[[election]]\nname = 'x'\nattribute_min = 3.0",
            ["`x`", "attribute_tag"],
        ),
        ("[elections]\nquorum = 3", ["elections.quorum", "{ c = 3 }"]),
        (
            "[[election]]\nname = 'x'\nmode = 'parts'",
            ["`x`", "group or component"],
        ),
        (
            "[[election]]\nname = 'x'\nscore = 'best'",
            ["`x`", "attribute, centrality or reliability"],
        ),
        (
            "[[election]]\nname = 'x'\nscore = 'centrality'\nattribute = 3",
            ["`x`", "where score names it"],
        ),
        (
            "[[election]]\nname = 'x'\nscore = ['reliability', 'reliability']",
            ["`x`", "counts once"],
        ),
        (
            "[[election]]\nname = 'x'\nmode = 'component'\nscore = 'centrality'",
            ["`x`", "the middle"],
        ),
        (
            "[[election]]\nname = 'x'\nmode = 'component'\nstream = true",
            ["`x`", "means nothing"],
        ),
        ("[topology]\nhysteresis = 3", ["topology", "peers"]),
        (
            "[topology]\nenabled = true\nhello_period = '1ms'",
            ["hello_period", "10 ms"],
        ),
        (
            "[elections]\nquorum = 1.5",
            ["election.quorum", "below 0.1"],
        ),
        (
            "[elections]\nreach_min_percent = 101",
            ["reach_min_percent", "100"],
        ),
    ] {
        let error = config(text).unwrap_err();
        for part in parts {
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

#[test]
fn flags_win_over_the_file() {
    let file: RawConfig = toml::from_str(
        "name = 'file'\njoin = ['a']\n[tags]\nx = '1'\ny = '1'\n[membership]\nprobe_helpers = 5",
    )
    .unwrap();
    let flags = RawConfig {
        name: Some("flag".into()),
        tags: [("y".into(), "2".into())].into(),
        ..RawConfig::default()
    };
    let both = flags.over(file);
    assert_eq!(both.name.as_deref(), Some("flag"));
    assert_eq!(both.join, ["a"]);
    assert_eq!(both.tags["x"], "1");
    assert_eq!(both.tags["y"], "2");
    assert_eq!(both.membership.probe_helpers, Some(5));
}

#[test]
fn an_interface_can_be_named_in_place_of_an_address() {
    let bind = |text: &str| {
        let raw: RawConfig = toml::from_str(text).unwrap();
        let config = Config::try_from(raw).unwrap();
        (config.bind.to_string(), config.bind_interface)
    };
    assert_eq!(
        bind("bind = 'eth0'"),
        ("0.0.0.0:7717".into(), Some("eth0".into()))
    );
    assert_eq!(
        bind("bind = 'wlan0:9'"),
        ("0.0.0.0:9".into(), Some("wlan0".into()))
    );
    assert_eq!(bind("bind = '[::1]:9'"), ("[::1]:9".into(), None));
}

#[test]
fn a_new_group_of_known_size_and_discovery_set_what_they_stand_for() {
    let config = |text: &str| {
        let raw: RawConfig = toml::from_str(text).unwrap();
        Config::try_from(raw).unwrap()
    };
    let m = config("expect = 5\nstate = '/tmp/x'").protocol.mutex;
    assert!(
        m.bootstrap && m.bound == consort::lock::Bound::Floor(5),
        "{m:?}"
    );
    let m = config("expect = 5\nstate = '/tmp/x'\n[lock]\nbound = 'members'")
        .protocol
        .mutex;
    assert_eq!(m.bound, consort::lock::Bound::Members);
    let found = config("discover = true");
    assert_eq!(
        found.topology,
        Some(consort::topology::Topology::new().all_interfaces())
    );
    assert_eq!(found.protocol.omega.hello_period, Duration::from_secs(5));
    let found = config("discover = true\n[topology]\ninterfaces = ['wlan0']\nhello_period = '1s'");
    assert_eq!(
        found.topology,
        Some(consort::topology::Topology::new().interface("wlan0"))
    );
    assert_eq!(found.protocol.omega.hello_period, Duration::from_secs(1));
}
