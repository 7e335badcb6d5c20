use super::*;
use proptest::prelude::*;

const SIDE: f64 = 500.0;

fn seconds(s: u64) -> Instant {
    Instant::from_micros(s * 1_000_000)
}

fn draw(model: Model, nodes: usize, span: u64, seed: u64) -> Motion {
    Motion::draw(model, SIDE, nodes, Duration::from_secs(span), seed)
}

fn models() -> impl Strategy<Value = Model> {
    prop::sample::select(&Model::ALL[..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A node is always inside the area, and never faster than its model allows. A microsecond is the rounding of a
    /// waypoint's time.
    #[test]
    fn nodes_stay_inside_and_below_their_speed(model in models(), nodes in 1_usize..70, seed: u64) {
        let motion = draw(model, nodes, 1800, seed);
        for node in 0..nodes {
            let way = motion.way(node);
            for w in way {
                prop_assert!((0.0..=SIDE).contains(&w.point.x), "{model:?} {w:?}");
                prop_assert!((0.0..=SIDE).contains(&w.point.y), "{model:?} {w:?}");
            }
            for pair in way.windows(2) {
                prop_assert!(pair[0].at < pair[1].at);
                let micros = (pair[1].at.as_micros() - pair[0].at.as_micros()) as f64;
                let metres = pair[0].point.distance(pair[1].point);
                prop_assert!(metres <= model.speed_max(SIDE) * (micros + 1.0) / 1e6 + 1e-9);
            }
            let end = way.last().map(|w| w.at);
            // At home nodes rest, until others arrive or for ever.
            let rests = matches!(model, Model::Static | Model::Interest);
            prop_assert!(rests || end >= Some(seconds(1800)));
        }
    }

    /// A seed gives one motion. More nodes or a longer span do not change the existing part, except in the model in
    /// which nodes wait for each other.
    #[test]
    fn ways_depend_on_seed_and_node_alone(model in models(), nodes in 2_usize..20, seed: u64) {
        let motion = draw(model, nodes, 600, seed);
        prop_assert_eq!(&motion, &draw(model, nodes, 600, seed));
        prop_assert_ne!(&motion.ways, &draw(model, nodes, 600, seed ^ 1).ways);
        let longer = draw(model, nodes, 900, seed);
        let more = draw(model, nodes + 1, 600, seed);
        for node in 0..nodes {
            let way = motion.way(node);
            prop_assert_eq!(way, &longer.way(node)[..way.len()]);
            if model != Model::Interest {
                prop_assert_eq!(way, more.way(node));
            }
        }
    }

    /// Following in steps of any size gives the same positions as single queries.
    #[test]
    fn positions_do_not_depend_on_who_asks(model in models(), seed: u64, steps in prop::collection::vec(0_u64..40_000_000, 1..60)) {
        let motion = draw(model, 3, 600, seed);
        let mut follower = motion.follow();
        let mut at = 0;
        for step in steps {
            at += step;
            let at = Instant::from_micros(at);
            for node in 0..3 {
                prop_assert_eq!(follower.position(node, at), motion.position(node, at));
            }
        }
    }

    /// No text makes the reader panic.
    #[test]
    fn any_text_is_read_or_refused(text in "[ -9$a-z_()\"\n#]{0,80}", cut in 0_usize..200) {
        let _ = Motion::parse(&text);
        let ns2 = "$node_(0) set X_ 1\n$node_(0) set Y_ 2\n$ns_ at 1.5 \"$node_(0) setdest 9 9 1\"\n";
        let _ = Motion::parse(&ns2[..cut.min(ns2.len())]);
        let _ = Motion::parse(&format!("{ns2}{text}"));
    }
}

/// Between two gatherings every node is away once, and none leaves before all are home.
#[test]
fn points_of_interest_gather_everybody() {
    let motion = draw(Model::Interest, 60, 1800, 7);
    let home: Vec<Point> = (0..60).map(|n| motion.position(n, Instant::ZERO)).collect();
    let away = |at: u64| {
        let is_home = |&n: &usize| motion.position(n, Instant::from_micros(at)) == home[n];
        60 - (0..60).filter(is_home).count()
    };
    assert_eq!(away(10_000_000), 0);
    assert_eq!(away(10_100_000), 60);
    let mut gatherings = 0;
    let mut last = 60;
    for tenth in 101..18_000 {
        let now = away(tenth * 100_000);
        // A gathering lasts: nodes do not leave one by one.
        assert!(last != 0 || now == 0 || now == 60, "{now} at {tenth}");
        gatherings += u32::from(now == 0 && last > 0);
        last = now;
    }
    // A round takes 20 s of rest and as long as the slowest of 60 walks about 230 m there and back.
    assert!((11..20).contains(&gatherings), "{gatherings}");
    // Homes are connected from 10 m on, as rings of 1, 6, 12, 18 and 23 places.
    let nearest = |n: usize| {
        let others = (0..60)
            .filter(|&m| m != n)
            .map(|m| home[n].distance(home[m]));
        others.fold(f64::INFINITY, f64::min)
    };
    assert!((0..60).all(|n| nearest(n) < 10.0));
    let outer = (0..60)
        .filter(|&n| home[n].distance(home[0]) > 35.0)
        .count();
    assert_eq!(outer, 23);
}

/// E33: nodes of the sampled walk fly across the area; those of the exact one move at most a metre per second.
#[test]
fn sampling_with_wrapping_makes_nodes_fly() {
    let fastest = |model| {
        let motion = draw(model, 60, 1800, 3);
        let speed = |pair: &[Waypoint]| {
            let s = (pair[1].at.as_micros() - pair[0].at.as_micros()) as f64 / 1e6;
            pair[0].point.distance(pair[1].point) / s
        };
        let all = (0..60).flat_map(|n| motion.way(n).windows(2));
        all.map(speed).fold(0.0, f64::max)
    };
    assert!(fastest(Model::Levy) < 1.001);
    assert!((7.0..12.0).contains(&fastest(Model::LevySampled)));
}

/// Flights and rests of a truncated Cauchy distribution: with values below 5 cut off, the median is near 10.
#[test]
fn levy_rests_have_the_median_of_a_truncated_cauchy() {
    let motion = draw(Model::Levy, 400, 1800, 5);
    let mut rests: Vec<f64> = Vec::new();
    for n in 0..400 {
        let first = motion.way(n).windows(2).find(|w| w[0].point == w[1].point);
        let first = first.expect("a rest after the first flight");
        rests.push((first[1].at.as_micros() - first[0].at.as_micros()) as f64 / 1e6);
    }
    rests.sort_by(f64::total_cmp);
    assert!((17.0..23.0).contains(&rests[200]), "{}", rests[200]);
    assert!(rests[0] >= 10.0 && rests[399] <= 7200.0);
}

#[test]
fn movements_of_bonnmotion_are_read() {
    let motion = Motion::parse("# one\n0 0 0 10 100 0 20 100 0\n5.5 3 4\n").unwrap();
    assert_eq!(motion.nodes(), 2);
    assert_eq!(motion.position(0, seconds(5)), Point { x: 50.0, y: 0.0 });
    assert_eq!(motion.position(0, seconds(99)), Point { x: 100.0, y: 0.0 });
    assert_eq!(motion.position(1, Instant::ZERO), Point { x: 3.0, y: 4.0 });
}

#[test]
fn movements_of_ns2_are_read_and_later_orders_replace_earlier_ones() {
    let text = "set nn 2\n$node_(0) set X_ 0.0\n$node_(0) set Y_ 0\n$node_(0) set Z_ 0\n\
        $node_(1) set X_ 7\n$node_(1) set Y_ 7\n\
        $ns_ at 10.0 \"$node_(0) setdest 100.0 0.0 10.0\"\n\
        $ns_ at 15.0 \"$node_(0) setdest 50.0 30.0 3.0\"\n\
        $ns_ at 20.0 \"$node_(0) setdest 50.0 99.0 0.0\"\n";
    let motion = Motion::parse(text).unwrap();
    let x = |s| motion.position(0, seconds(s));
    assert_eq!(x(10), Point { x: 0.0, y: 0.0 });
    assert_eq!(x(14), Point { x: 40.0, y: 0.0 });
    assert_eq!(x(17), Point { x: 50.0, y: 6.0 });
    assert_eq!(x(60), Point { x: 50.0, y: 15.0 });
    assert_eq!(motion.position(1, seconds(60)), Point { x: 7.0, y: 7.0 });
}

#[test]
fn bad_files_are_refused_with_line_and_reason() {
    let start = "$node_(0) set X_ 1\n$node_(0) set Y_ 1\n";
    for (text, expected) in [
        (String::new(), "no nodes found"),
        ("# nothing\n".into(), "no nodes found"),
        ("0 1 2 3\n".into(), "line 1: expected `t x y`"),
        ("0 0 0\n0 0 x\n".into(), "line 2: expected a coordinate"),
        ("0 NaN 0\n".into(), "line 1: expected a coordinate"),
        ("0 inf 0\n".into(), "found `inf`"),
        ("-1 0 0\n".into(), "line 1: expected a time"),
        ("1e99 0 0\n".into(), "line 1: expected a time"),
        ("5 0 0 4 0 0\n".into(), "expected times in order"),
        ("5 0 0 5 1 0\n".into(), "one place at a time"),
        (
            "$node_(1) set X_ 1\n$node_(1) set Y_ 1\n".into(),
            "node 0 has no start",
        ),
        ("$node_(0) set X_ 1\n".into(), "node 0 has no start"),
        ("$node_(99999) set X_ 1\n".into(), "below 10000"),
        (
            format!("{start}$node_(0) fly\n"),
            "line 3: expected `set X_`",
        ),
        (
            format!("{start}$ns_ at x \"$node_(0) setdest 1 1 1\"\n"),
            "line 3: expected a time",
        ),
        (
            format!("{start}$ns_ at 1 \"$node_(0) setdest 1 1 -1\"\n"),
            "expected a speed",
        ),
        (
            format!("{start}$ns_ at 1 \"$node_(0) setdest NaN 1 1\"\n"),
            "expected a coordinate",
        ),
    ] {
        let error = Motion::parse(&text).expect_err(&text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let wide = "0 0 0\n".repeat(10_001);
    assert_eq!(Motion::parse(&wide), Err(TraceError::TooLarge));
}
