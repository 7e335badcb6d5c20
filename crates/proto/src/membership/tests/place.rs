//! Who is told where this node is.

use super::*;

/// Whether datagrams to these members say where this node is.
fn told(b: &mut Bench, to: &[u64]) -> Vec<bool> {
    to.iter()
        .map(|id| {
            // Not one that is told in any case.
            while b.m.placing.is_repeated_next() {
                b.m.place_for(None);
            }
            b.m.place_for(Some(NodeId(*id))).is_some()
        })
        .collect()
}

#[test]
fn a_member_is_told_where_this_node_is_when_it_has_moved() {
    let mut b = Bench::new(4);
    assert_eq!(
        told(&mut b, &[2, 3, 2, 3, 2]),
        [true, true, false, false, false]
    );
    let near = |x: f32| Coordinate {
        position: [x, 0.0, 0.0],
        ..Coordinate::default()
    };
    b.m.coordinate = Some(near(0.4));
    assert_eq!(told(&mut b, &[2]), [false]);
    b.m.coordinate = Some(near(2.0));
    assert_eq!(told(&mut b, &[2, 2, 3, 4]), [true, false, true, true]);
    // What is far from the middle of the group moves farther before it matters.
    b.m.coordinate = Some(near(100.0));
    assert_eq!(told(&mut b, &[2]), [true]);
    b.m.coordinate = Some(near(108.0));
    assert_eq!(told(&mut b, &[2]), [false]);
    // Where it is was known badly.
    b.m.coordinate = Some(Coordinate {
        error: 0.2,
        ..near(100.0)
    });
    assert_eq!(told(&mut b, &[2]), [true]);
    // A member in another life knows nothing.
    let mut reborn = alive(2, 0);
    reborn.precedence.life = Life(11);
    b.msg(sender(3, 0), Msg::Record(reborn));
    assert_eq!(told(&mut b, &[2, 2]), [true, false]);
}

#[test]
fn a_configured_position_is_told_whenever_it_changes() {
    let mut b = Bench::with(
        3,
        Config {
            distance_source: DistanceSource::Position,
            ..calm_config()
        },
    );
    assert_eq!(told(&mut b, &[2]), [false]);
    b.input(Input::SetPosition([5e6, 0.0, 0.0]));
    assert_eq!(told(&mut b, &[2, 2]), [true, false]);
    b.input(Input::SetPosition([5e6, 1.0, 0.0]));
    assert_eq!(told(&mut b, &[2, 2]), [true, false]);
}

#[test]
fn coordinates_ride_in_one_datagram_of_eight_at_most_and_in_one_of_32_at_least() {
    let mut b = Bench::new(9);
    let mut restless = 0;
    for n in 0..80_000_u32 {
        b.m.coordinate = Some(Coordinate::at([100.0 * (n % 7) as f32, 0.0, 0.0]));
        let to = NodeId(u64::from(2 + n % 8));
        restless += u32::from(b.m.place_for(Some(to)).is_some());
    }
    // Some of those told in any case were due anyway.
    assert!((10_000..13_000).contains(&restless), "{restless}");
    let calm = (0..80_000).filter(|n| b.m.place_for(Some(NodeId(2 + n % 8))).is_some());
    assert!((2300..2700).contains(&calm.count()));
    // Whoever is not listed is told by chance only.
    let strange = (0..3200).filter(|_| b.m.place_for(None).is_some()).count();
    assert!((60..140).contains(&strange), "{strange}");
}
