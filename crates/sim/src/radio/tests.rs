use super::*;
use crate::mobility::Motion;
use crate::topology::Point;
use consort_proto::Rng;

const RANGE: f64 = 50.0;

fn row(xs: &[f64]) -> Motion {
    let points: Vec<Point> = xs.iter().map(|&x| Point { x, y: 0.0 }).collect();
    Motion::at(&points)
}

fn radio(nodes: usize, config: RadioConfig, seed: u64) -> Radio<u32> {
    Radio::new(nodes, Reach::disk(RANGE), config, seed)
}

fn frame(payload: u32) -> Frame<u32> {
    let (to, bytes, beacon) = (None, 100, false);
    Frame {
        to,
        bytes,
        beacon,
        payload,
    }
}

fn at(us: u64) -> Instant {
    Instant::from_micros(us)
}

/// All receptions that result from what was sent so far.
fn finish(radio: &mut Radio<u32>, motion: &Motion) -> Vec<(usize, u32)> {
    let mut received = Vec::new();
    let mut positions = motion.follow();
    while radio.next().is_some() {
        radio.step(&mut positions, &mut received);
    }
    received.iter().map(|r| (r.to, r.payload)).collect()
}

/// Share of frames that collide when `nodes` in one cell always have a frame to send.
fn saturated(nodes: usize) -> f64 {
    let motion = row(&vec![0.0; nodes]);
    let mut positions = motion.follow();
    let mut radio = radio(nodes, RadioConfig::default(), 3);
    let mut received = Vec::new();
    radio.send(at(0), 0, frame(0));
    while radio.tally().frames < 40_000 {
        let now = radio.next().expect("somebody waits to send");
        radio.step(&mut positions, &mut received);
        // Stations with full queues refuse.
        (0..nodes).for_each(|n| radio.send(now, n, frame(0)));
        received.clear();
    }
    let tally = radio.tally();
    tally.collisions as f64 / tally.arrivals as f64
}

/// A station sends in 2 of 17 slots, so that a frame collides with probability 1 - (15/17)^(n-1).
#[test]
fn saturated_stations_collide_as_theory_says() {
    for (nodes, expected) in [(2, 0.118), (5, 0.394), (10, 0.676)] {
        let measured = saturated(nodes);
        assert!((measured - expected).abs() < 0.02, "{nodes}: {measured}");
    }
}

/// Collisions at the node in the middle of three while the outer ones send 400 frames per second each.
fn collisions(xs: [f64; 3], config: RadioConfig) -> f64 {
    let motion = row(&xs);
    let mut positions = motion.follow();
    let mut radio = radio(3, config, 5);
    let mut rng = Rng::seed(5, 1);
    let mut received = Vec::new();
    let mut count = 0;
    let mut now = 0;
    for n in 0..40_000 {
        now += (-libm::log(1.0 - rng.unit()) * 1250.0) as u64;
        while radio.next().is_some_and(|next| next < at(now)) {
            radio.step(&mut positions, &mut received);
        }
        radio.send(at(now), if rng.chance(0.5) { 0 } else { 2 }, frame(n));
        count += 1;
    }
    while radio.next().is_some() {
        radio.step(&mut positions, &mut received);
    }
    let middle = received.iter().filter(|r| r.to == 1).count();
    1.0 - middle as f64 / f64::from(count)
}

#[test]
fn hidden_stations_collide_far_more_than_those_that_sense_each_other() {
    let exposed = collisions([20.0, 40.0, 60.0], RadioConfig::default());
    let hidden = collisions([0.0, 40.0, 80.0], RadioConfig::default());
    assert!(hidden > 0.05, "{hidden}");
    assert!(exposed < hidden / 10.0, "{exposed} {hidden}");
    let far_sighted = RadioConfig {
        sense_factor: 2.0,
        ..RadioConfig::default()
    };
    let sensed = collisions([0.0, 40.0, 80.0], far_sighted);
    assert!(sensed < hidden / 10.0, "{sensed} {hidden}");
}

#[test]
fn one_seed_gives_one_history() {
    let history = |seed| {
        let motion = row(&[0.0, 30.0, 60.0, 90.0, 120.0]);
        let config = RadioConfig {
            loss: 0.1,
            ..RadioConfig::default()
        };
        let mut radio = radio(5, config, seed);
        for n in 0..200 {
            radio.send(at(u64::from(n) * 40), n as usize % 5, frame(n));
        }
        (finish(&mut radio, &motion), radio.tally())
    };
    assert_eq!(history(1), history(1));
    assert_ne!(history(1), history(2));
}

/// Two nodes that begin within 4 us do not sense each other; a microsecond later they do.
#[test]
fn transmissions_are_sensed_after_four_microseconds() {
    let heard = |after: u64| {
        let motion = row(&[0.0, 10.0, 20.0]);
        let mut radio = radio(3, RadioConfig::default(), 1);
        let mut positions = motion.follow();
        let mut received = Vec::new();
        radio.send(at(100), 0, frame(0));
        while radio.next().is_some_and(|next| next < at(100 + after)) {
            radio.step(&mut positions, &mut received);
        }
        radio.send(at(100 + after), 2, frame(2));
        finish(&mut radio, &motion).len()
    };
    assert_eq!(heard(3), 0);
    assert_eq!(heard(5), 4);
}

/// A free channel is used at once; the same station waits before its next frame.
#[test]
fn access_is_immediate_only_after_silence() {
    let motion = row(&[0.0, 10.0]);
    let mut radio = radio(2, RadioConfig::default(), 1);
    let mut positions = motion.follow();
    let mut received = Vec::new();
    radio.send(at(1000), 0, frame(0));
    radio.send(at(1000), 0, frame(1));
    let mut ends = Vec::new();
    while let Some(now) = radio.next() {
        radio.step(&mut positions, &mut received);
        if received.len() > ends.len() {
            ends.push(now.as_micros());
        }
    }
    assert_eq!(ends[0], 1000 + 70);
    let waited = ends[1] - ends[0] - 70 - 28;
    assert!(waited % 9 == 0 && waited <= 15 * 9, "{waited}");
}

#[test]
fn queues_have_room_for_fifty_and_let_beacons_go_first() {
    let motion = row(&[0.0, 10.0]);
    let mut radio = radio(2, RadioConfig::default(), 1);
    for n in 0..60 {
        radio.send(at(100), 0, frame(n));
    }
    assert_eq!(radio.tally().dropped, 10);
    radio.set_up(0, false);
    radio.set_up(0, true);
    for n in 0..3 {
        let beacon = n > 0;
        radio.send(at(100), 0, Frame { beacon, ..frame(n) });
    }
    assert_eq!(finish(&mut radio, &motion), [(1, 1), (1, 2), (1, 0)]);
    assert_eq!(radio.tally().airtime_us, 70 + 2 * 250);
    assert_eq!(radio.tally().airtime_beacons_us, 2 * 250);
}

/// Node 1 hears both others, which do not hear each other; it is ten times nearer to one of them.
#[test]
fn the_much_stronger_frame_survives_with_capture_only() {
    for (capture, expected) in [(false, vec![]), (true, vec![(1, 0)])] {
        let motion = row(&[0.0, 4.0, 54.0]);
        let config = RadioConfig {
            capture,
            ..RadioConfig::default()
        };
        let mut radio = radio(3, config, 1);
        radio.send(at(100), 0, frame(0));
        radio.send(at(100), 2, frame(2));
        assert_eq!(finish(&mut radio, &motion), expected);
        assert_eq!(radio.tally().collisions, 2 - u64::from(capture));
    }
}

#[test]
fn who_sends_hears_nothing_and_who_is_off_neither() {
    let motion = row(&[0.0, 10.0, 20.0]);
    let mut radio = radio(3, RadioConfig::default(), 1);
    radio.send(at(100), 0, frame(0));
    radio.send(at(100), 1, frame(1));
    assert_eq!(finish(&mut radio, &motion), []);
    radio.set_up(2, false);
    radio.send(at(9000), 2, frame(2));
    radio.send(at(9000), 0, frame(3));
    assert_eq!(finish(&mut radio, &motion), [(1, 3)]);
}

#[test]
fn a_frame_for_one_is_ignored_by_others_and_a_cut_one_by_all() {
    let motion = row(&[0.0, 10.0, 20.0]);
    let mut radio = radio(3, RadioConfig::default(), 1);
    radio.send(
        at(100),
        0,
        Frame {
            to: Some(2),
            ..frame(7)
        },
    );
    assert_eq!(finish(&mut radio, &motion), [(2, 7)]);
    radio.send(at(5000), 0, frame(8));
    radio.step(&mut motion.follow(), &mut Vec::new());
    radio.set_up(0, false);
    assert_eq!(finish(&mut radio, &motion), []);
}

#[test]
fn sending_and_receiving_take_energy_for_as_long_as_a_frame() {
    let motion = row(&[0.0, 10.0]);
    let mut radio = radio(2, RadioConfig::default(), 1);
    radio.send(at(100), 0, frame(0));
    finish(&mut radio, &motion);
    let on = core::time::Duration::from_secs(1);
    let (sent, heard) = (radio.meter(0).energy(on), radio.meter(1).energy(on));
    assert!((sent.transmit - 2.5 * 70e-6).abs() < 1e-12);
    assert!((heard.receive - 70e-6).abs() < 1e-12);
    assert!((heard.listen - 0.5 * (1.0 - 70e-6)).abs() < 1e-9);
    assert!((sent.above - 2.0 * 70e-6).abs() < 1e-12);
    assert!((heard.above - 0.5 * 70e-6).abs() < 1e-12);
}

#[test]
fn the_ideal_medium_delivers_to_all_in_range_after_ten_milliseconds_or_so() {
    let motion = row(&[0.0, 50.0, 50.1]);
    let mut positions = motion.follow();
    let mut ideal: Ideal<u32> = Ideal::new(3, Reach::disk(RANGE), 0.0, 1);
    let mut received = Vec::new();
    let (mut sum, mut square) = (0.0, 0.0);
    for n in 0..20_000 {
        let now = at(n * 100_000);
        ideal.send(now, 0, frame(0), &mut positions);
        let arrives = ideal.next().expect("node 1 is in range");
        let ms = arrives.since(now).as_millis() as f64;
        sum += ms;
        square += ms * ms;
        ideal.step(&mut received);
        assert_eq!(ideal.next(), None);
    }
    assert!(received.iter().all(|r| r.to == 1));
    let mean = sum / 20_000.0;
    let variance = square / 20_000.0 - mean * mean;
    assert!((mean - 10.0).abs() < 0.1, "{mean}");
    assert!((variance - 10.0).abs() < 0.4, "{variance}");
    let mut lossy: Ideal<u32> = Ideal::new(3, Reach::disk(RANGE), 0.3, 1);
    (0..10_000).for_each(|n| lossy.send(at(n), 0, frame(0), &mut motion.follow()));
    assert!((2_800..3_200).contains(&lossy.tally().lost));
}

/// Shadowing makes some links one-way; the same seed gives the same links.
#[test]
fn walls_make_links_one_way() {
    let reach = |seed| Reach {
        range: RANGE,
        shadowing: Some(Shadowing::draw(40, 6.0, seed)),
    };
    let one_way = |reach: &Reach| {
        let mut count = 0;
        for a in 0..40 {
            for b in 0..a {
                let place = |n: usize| {
                    (
                        n,
                        Point {
                            x: (n * 5) as f64,
                            y: 0.0,
                        },
                    )
                };
                let (there, back) = (
                    reach.distance(place(a), place(b)),
                    reach.distance(place(b), place(a)),
                );
                count += usize::from((there <= RANGE) != (back <= RANGE));
                assert_eq!(reach.linked(place(a), place(b)), there.max(back) <= RANGE);
            }
        }
        count
    };
    assert_eq!(reach(1), reach(1));
    assert!(one_way(&reach(1)) > 50);
    assert_eq!(one_way(&Reach::disk(RANGE)), 0);
}
