//! Writes the seeds in fuzz/corpus: real datagrams, files and requests. Run it in fuzz/ after the wire format, the format of
//! files or the interface has changed: `cargo run --example seeds`.

use consort_fuzz::datagram::{FRAMES, SEALED, UNDIRECTED, write};
use consort_fuzz::net::{Flight, Net, addr};
use consort_proto::wire::{Datagram, Frame, HEADER_LEN};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The kind of a frame: its layer and the variant of its message.
fn kind(frame: &Frame) -> String {
    let text = format!("{frame:?}");
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    let (layer, variant) = (words.next(), words.next());
    format!(
        "{}-{}",
        layer.unwrap_or_default(),
        variant.unwrap_or_default()
    )
    .to_lowercase()
}

fn decoded(flight: &Flight) -> Datagram {
    let mut datagram = Datagram::default();
    datagram.decode(&flight.bytes).expect("of an open group");
    datagram
}

/// The frames of a datagram of an open group.
fn frames(flight: &Flight) -> &[u8] {
    let frames = decoded(flight).frames;
    let len: usize = frames.iter().map(Frame::encoded_len).sum();
    &flight.bytes[flight.bytes.len() - len..]
}

fn sender(flight: &Flight) -> u8 {
    match flight.from == addr(1) {
        true => 0,
        false => 1,
    }
}

fn save(target: &str, name: &str, bytes: &[u8]) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    fs::create_dir_all(&dir).expect("a directory can be made");
    fs::write(dir.join(name), bytes).expect("a file can be written");
}

fn main() {
    datagrams();
    files();
    configurations();
    requests();
    operations();
}

fn datagrams() {
    let net = Net::warm(false, true);
    let recorded = net.recorded.unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for flight in &recorded {
        let datagram = decoded(flight);
        let new: Vec<String> = datagram.frames.iter().map(kind).collect();
        let new: Vec<String> = new.into_iter().filter(|k| seen.insert(k.clone())).collect();
        let Some(name) = new.first() else {
            continue;
        };
        save("frame", name, &flight.bytes);
        let mut input = Vec::new();
        write(&mut input, sender(flight), &flight.bytes);
        save("datagram_open", name, &input);
        let mut input = Vec::new();
        write(&mut input, sender(flight) | FRAMES | SEALED, frames(flight));
        save("datagram_sealed", name, &input);
        all.push(flight);
        // Frames of kinds that were not seen, alone.
        for frame in datagram.frames.iter().filter(|f| new.contains(&kind(f))) {
            let mut bytes = Vec::new();
            let alone = Datagram {
                frames: vec![frame.clone()],
                ..Datagram::default()
            };
            alone.encode(&mut bytes);
            let (layer, body) = (bytes[HEADER_LEN], &bytes[HEADER_LEN + 1..]);
            let long = usize::from(body[0] & 0x80 != 0);
            let body = [&[layer], &body[1 + long..]].concat();
            save("frame", &format!("body-{}", kind(frame)), &body);
        }
    }
    // Several in a row, as of a stranger, after a while, and for all.
    for (name, more) in [
        ("row", 0),
        ("stranger", 2),
        ("later", 0b1010_0000),
        ("for-all", UNDIRECTED),
    ] {
        let (mut open, mut sealed) = (Vec::new(), Vec::new());
        for flight in all.iter().take(12) {
            let how = sender(flight) | more;
            write(&mut open, how | FRAMES, frames(flight));
            write(&mut sealed, how | FRAMES | SEALED, frames(flight));
        }
        save("datagram_open", name, &open);
        save("datagram_sealed", name, &sealed);
    }
    let net = Net::warm(true, true);
    let recorded = net.recorded.unwrap_or_default();
    for (n, flight) in recorded
        .iter()
        .filter(|f| f.to == 0)
        .rev()
        .take(4)
        .enumerate()
    {
        let mut input = Vec::new();
        write(&mut input, sender(flight), &flight.bytes);
        save("datagram_sealed", &format!("real-{n}"), &input);
    }
    save("datagram_open", "empty", &[]);
}

fn files() {
    use consort::fuzz::FILES;
    let net = Net::warm(false, false);
    let disk = &net.hosts[0].disk;
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let leases = disk
        .leases
        .iter()
        .map(|(id, r)| format!("{id:?} {}\n", hex(&r.encode())));
    let terms = disk.terms.iter().map(|(id, t)| format!("{id:?} {}\n", t.0));
    let (life, fence) = (disk.life.0, disk.fence.unwrap_or(9));
    let member = |id: u64, failed: &str| {
        format!("{id:016x} {life} 3 10.0.0.{id}:7000 {failed} 726f626f74\n")
    };
    let report = |id: u64| format!("{id:016x} {life} 2 98304 1000000\n");
    let bodies = [
        (
            "state",
            format!("consort-state 1\nid 0000000000000001\nlife {life}\n"),
        ),
        (
            "state",
            format!("consort-state 1\nid ffffffffffffffff\nlife {}\n", u64::MAX),
        ),
        (
            "terms",
            format!("consort-terms 1\n{}", terms.collect::<String>()),
        ),
        (
            "terms",
            format!(
                "consort-terms 1\n{:?} {}\n",
                consort_fuzz::net::ELECTION,
                u64::MAX
            ),
        ),
        ("fence", format!("consort-fence 1\nseq {fence}\n")),
        ("fence", format!("consort-fence 1\nseq {}\n", u64::MAX)),
        (
            "leases",
            format!("consort-leases 1\n{}", leases.collect::<String>()),
        ),
        ("memory", format!("consort-memory 1\nlife {life}\n")),
        ("memory", "consort-memory 1\nlife 0\n".to_owned()),
        (
            "group",
            format!(
                "consort-group 1\ngroup 0323d05a\n{}{}",
                member(2, "-"),
                member(3, "1699999000")
            ),
        ),
        (
            "group",
            format!("consort-group 1\ngroup 00000000\n{}", member(1, "-")),
        ),
        (
            "members",
            "10.0.0.2:7000\n[fe80::1]:7\nnonsense\n".to_owned(),
        ),
        ("reliability", format!("{}x\n{}", report(2), report(3))),
    ];
    for (n, (name, body)) in bodies.into_iter().enumerate() {
        let file = FILES.iter().position(|f| *f == name).unwrap_or_default();
        save(
            "state",
            &format!("{name}-{n}"),
            &[&[file as u8], body.as_bytes()].concat(),
        );
    }
}

fn configurations() {
    let example = consort_agent::config_example();
    save("config", "example", example.as_bytes());
    let plain = example.lines().map(|l| l.strip_prefix("# ").unwrap_or(l));
    let plain: String = plain.map(|l| format!("{l}\n")).collect();
    save("config", "uncommented", plain.as_bytes());
    let texts = [
        (
            "profile",
            "profile = \"lora\"\ndetection = \"fast\"\nname = \"ü\"\n",
        ),
        (
            "bind",
            "bind = \"eth0:7717\"\nadvertise = \"10.0.0.1\"\njoin = [\"host:7717\"]\nhttp = \"unix:/run/x\"\n",
        ),
        (
            "expect",
            "expect = 3\nstate = \"/var/lib/consort\"\ndiscover = true\n",
        ),
        (
            "election",
            "[tags]\nbattery = \"70\"\n[[election]]\nname = \"leader\"\nclass = 3\nattribute_tag = \"battery:0..100\"\n",
        ),
        (
            "handler",
            "[[handler]]\non = \"event:deploy\"\nrun = [\"true\"]\ntimeout = \"3s\"\n",
        ),
        (
            "lock",
            "[lock]\nttl = \"5s\"\nttl_max = \"20s\"\nbound = \"floor:3\"\n",
        ),
        (
            "membership",
            "[membership]\nprobe_period = \"800ms\"\nsuspicion_timeout = \"4s\"\n",
        ),
        (
            "topology",
            "[topology]\nenabled = true\nhello_period = \"5s\"\ninterfaces = [\"wlan*\"]\n",
        ),
        ("misspelt", "nmae = \"x\"\n"),
        (
            "numbers",
            "[lock]\nttl = \"18446744073709551615ns\"\n[membership]\nprobe_period = \"99999999999y\"\n",
        ),
        ("set", "--set lock.ttl=5s\nname = \"a\"\n"),
        ("set-tags", "--set tags=a=b,c=d\n"),
        ("set-unknown", "--set lock.tll=5s\n"),
    ];
    for (name, text) in texts {
        save("config", name, text.as_bytes());
    }
}

fn requests() {
    let texts = [
        "GET /v1/self\n",
        "GET /v1/members\n",
        "GET /v1/members/fuzz/why\n",
        "GET /v1/members/fuzz/history\n",
        "POST /v1/join\n{\"addresses\": [\"127.0.0.1:9\"], \"timeout_ms\": 1}",
        "POST /v1/force-leave\n{\"member\": \"node-3\"}",
        "POST /v1/event\n{\"name\": \"deploy\", \"payload\": \"v7\"}",
        "POST /v1/query\n{\"name\": \"load\", \"payload\": \"\", \"nodes\": [\"a\"], \"tags\": [\"zone=b\", \"x\"], \"timeout_ms\": 1, \"stream\": true}",
        "GET /v1/reachability?timeout_ms=1\n",
        "PATCH /v1/tags\n{\"zone\": \"b\", \"old\": null}",
        "PUT /v1/tags\n{\"zone\": \"b\"}",
        "DELETE /v1/tags\n",
        "DELETE /v1/tags/zone\n",
        "GET /v1/elections\n",
        "GET /v1/elections/leader\n",
        "POST /v1/elections/leader/campaign\n{\"class\": 1, \"attribute\": 70, \"attribute_tag\": \"battery:0..100\", \"ttl_ms\": 1000}",
        "POST /v1/elections/leader/campaign\n{\"stream\": true, \"health\": true, \"score\": [\"centrality\", \"attribute\"], \"preempt\": \"strict\"}",
        "POST /v1/elections/leader/withdraw\n{}",
        "POST /v1/elections/leader/resign\n{\"to\": \"node-2\"}",
        "POST /v1/elections/leader/ended\n{\"token\": \"1\"}",
        "POST /v1/elections/leader/forget\n",
        "GET /v1/locks\n",
        "GET /v1/locks/build\n",
        "POST /v1/locks/build\n{\"try\": true, \"ttl_ms\": 5000, \"shared\": true, \"hold_max_ms\": 1, \"cohort\": 2, \"elevator\": true}",
        "POST /v1/locks/build/acquire?wait_ms=1&request=r1\n{\"timeout_ms\": 18446744073709551615, \"bound\": \"floor:3\", \"permits\": 2, \"attended\": true}",
        "POST /v1/locks/build/r1/renew\n",
        "GET /v1/locks/build/r1\n",
        "DELETE /v1/locks/build/r1\n",
        "POST /v1/locks/build/break\n{\"permits\": 3}",
        "GET /v1/topology\n",
        "GET /v1/churn\n",
        "GET /v1/stats\n",
        "GET /v1/stats/history\n",
        "GET /v1/health\n",
        "GET /v1/log?limit=3\n",
        "GET /v1/events?since=0\n",
        "GET /metrics\n",
        "GET /v1/openapi.json\n",
        "GET /\n",
        "POST /v1/tags\n[1, 2.5e300, \"\\ud83d\\ude00\"]",
    ];
    for (n, text) in texts.iter().enumerate() {
        let path = text.split([' ', '\n', '?']).nth(1).unwrap_or_default();
        let name = path.trim_matches('/').replace('/', "-");
        save("http_body", &format!("{n:02}-{name}"), text.as_bytes());
    }
}

fn operations() {
    // The numbers of the operations in node_ops.rs.
    const DELIVER: u8 = 0;
    const DELIVER_ALL: u8 = 1;
    const DROP: u8 = 2;
    const DEAFEN: u8 = 3;
    const DOUBLE: u8 = 4;
    const ALTER: u8 = 5;
    const WAIT: u8 = 6;
    const WAIT_ALL: u8 = 7;
    const PASS: u8 = 8;
    const ACQUIRE: u8 = 9;
    const RELEASE: u8 = 10;
    const CAMPAIGN: u8 = 11;
    const STEP_DOWN: u8 = 12;
    const HOLD: u8 = 13;
    const TELL: u8 = 14;
    const JOIN: u8 = 15;
    const LEAVE: u8 = 16;
    const FORCE_LEAVE: u8 = 17;
    const BREAK: u8 = 18;
    const LOOK: u8 = 19;
    const TAGS: u8 = 20;
    const NAP: u8 = 21;
    const DISK: u8 = 22;
    const RESTART: u8 = 23;
    type Ops = &'static [[u8; 3]];
    let stories: [(&str, Ops); 12] = [
        (
            "meet",
            &[
                [JOIN, 1, 0],
                [JOIN, 2, 0],
                [PASS, 200, 0],
                [ACQUIRE, 0, 0],
                [PASS, 100, 0],
                [RELEASE, 0, 0],
            ],
        ),
        (
            "hand-over",
            &[
                [ACQUIRE, 0, 0],
                [ACQUIRE, 1, 0],
                [ACQUIRE, 2, 0],
                [PASS, 50, 0],
                [RELEASE, 0, 0],
                [PASS, 50, 0],
                [RELEASE, 1, 0],
                [PASS, 50, 0],
            ],
        ),
        (
            "restart-holder",
            &[
                [RELEASE, 0, 0],
                [PASS, 50, 0],
                [RESTART, 1, 1],
                [PASS, 250, 0],
                [ACQUIRE, 1, 0],
                [PASS, 250, 0],
                [PASS, 250, 0],
                [PASS, 250, 0],
            ],
        ),
        (
            "restart-all",
            &[
                [RESTART, 0, 1],
                [RESTART, 1, 1],
                [RESTART, 2, 0],
                [PASS, 255, 0],
                [ACQUIRE, 2, 0],
                [PASS, 255, 0],
                [PASS, 255, 0],
                [PASS, 255, 0],
                [PASS, 255, 0],
                [PASS, 255, 0],
            ],
        ),
        (
            "pause",
            &[
                [WAIT_ALL, 100, 0],
                [DELIVER_ALL, 200, 0],
                [WAIT_ALL, 255, 0],
                [PASS, 200, 0],
                [RELEASE, 0, 0],
                [PASS, 200, 0],
            ],
        ),
        (
            "lose",
            &[
                [WAIT, 0, 90],
                [DROP, 0, 0],
                [DEAFEN, 1, 0],
                [WAIT, 1, 90],
                [DELIVER, 2, 0],
                [DOUBLE, 0, 0],
                [DELIVER, 5, 0],
                [WAIT, 2, 90],
                [DELIVER_ALL, 9, 0],
                [DOUBLE, 1, 0],
            ],
        ),
        (
            "alter",
            &[
                [WAIT, 0, 90],
                [ALTER, 0, 3],
                [DELIVER, 0, 0],
                [WAIT, 1, 90],
                [ALTER, 1, 9],
                [DELIVER_ALL, 9, 0],
                [ALTER, 2, 200],
                [PASS, 50, 0],
            ],
        ),
        (
            "elections",
            &[
                [STEP_DOWN, 0, 3],
                [PASS, 100, 0],
                [STEP_DOWN, 1, 2],
                [CAMPAIGN, 1, 6],
                [HOLD, 2, 0],
                [PASS, 200, 0],
                [STEP_DOWN, 0, 0],
                [STEP_DOWN, 2, 1],
                [CAMPAIGN, 2, 1],
                [PASS, 200, 0],
            ],
        ),
        (
            "messages",
            &[
                [TELL, 0, 0],
                [TELL, 1, 5],
                [PASS, 20, 0],
                [TELL, 0, 2],
                [TELL, 2, 2],
                [PASS, 20, 0],
                [TELL, 1, 3],
                [LOOK, 0, 7],
                [PASS, 20, 0],
            ],
        ),
        (
            "leave",
            &[
                [LEAVE, 0, 0],
                [PASS, 255, 0],
                [PASS, 255, 0],
                [RESTART, 0, 0],
                [PASS, 255, 0],
                [FORCE_LEAVE, 1, 2],
                [PASS, 50, 0],
            ],
        ),
        (
            "disk",
            &[
                [DISK, 0, 0],
                [ACQUIRE, 0, 1],
                [HOLD, 0, 0],
                [PASS, 100, 0],
                [DISK, 0, 0],
                [PASS, 100, 0],
                [RESTART, 0, 1],
                [PASS, 100, 0],
            ],
        ),
        (
            "attributes",
            &[
                [TAGS, 0, 9],
                [TAGS, 1, 255],
                [NAP, 2, 4],
                [PASS, 100, 0],
                [BREAK, 1, 0],
                [PASS, 100, 0],
            ],
        ),
    ];
    for (name, story) in stories {
        for (group, how) in [("open", 2), ("sealed", 3)] {
            let how = if name == "meet" { how & 1 } else { how };
            save(
                "node_ops",
                &format!("{name}-{group}"),
                &[&[how], story.concat().as_slice()].concat(),
            );
        }
    }
}
