use super::*;

#[test]
fn positions_name_the_line_that_is_wrong() {
    let text = "# metres\n1,2\n\n 3.5 , -4e1 \n";
    let points = parse_positions(text).unwrap();
    assert_eq!(
        points,
        [Point { x: 1.0, y: 2.0 }, Point { x: 3.5, y: -40.0 }]
    );
    for (bad, line) in [("1,2\n3;4", 2), ("1,NaN", 1), ("1,2\n\n1", 3), ("x,y", 1)] {
        match parse_positions(bad) {
            Err(TopologyError::Line { line: at, .. }) => assert_eq!(at, line, "{bad}"),
            other => panic!("{bad}: {other:?}"),
        }
    }
    assert_eq!(parse_positions("# nobody\n"), Err(TopologyError::Empty));
}

#[test]
fn neighbours_are_symmetric_ordered_and_within_range() {
    let layout = Layout::draw(&Topology::Random, 49, 15.0, 4.0, 7).unwrap();
    for a in 0..49 {
        let listed = layout.neighbours(a);
        assert!(listed.windows(2).all(|w| w[0].0 < w[1].0));
        for b in 0..49 {
            let near = a != b && layout.points[a].distance(layout.points[b]) <= 4.0;
            assert_eq!(listed.iter().any(|n| n.0 as usize == b), near);
        }
    }
    assert_eq!(layout.reached(), 49);
}

#[test]
fn clusters_have_the_papers_sizes_and_stay_in_their_boxes() {
    assert_eq!(split(49, &[7, 7, 9, 10, 16]), [7, 7, 9, 10, 16]);
    assert_eq!(split(25, &[6, 9, 10]), [6, 9, 10]);
    assert_eq!(split(2, &[7, 7, 9, 10, 16]).iter().sum::<usize>(), 2);
    let layout = Layout::draw(&Topology::cluster_b(), 49, 15.0, 4.0, 3).unwrap();
    let mut at = 0;
    for size in split(49, &[7, 7, 9, 10, 16]) {
        let of_box = &layout.points[at..at + size];
        let spread = |f: fn(&Point) -> f64| {
            let values = || of_box.iter().map(f);
            values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min)
        };
        assert!(spread(|p| p.x) <= 4.5 && spread(|p| p.y) <= 4.5);
        at += size;
    }
}

#[test]
fn an_impossible_layout_is_an_error_that_says_what_to_change() {
    let error = Layout::draw(&Topology::Random, 10, 1000.0, 1.0, 1).unwrap_err();
    assert!(error.to_string().contains("raise the range"), "{error}");
    let apart = Topology::Positions(vec![Point { x: 0.0, y: 0.0 }, Point { x: 9.0, y: 0.0 }]);
    let error = Layout::draw(&apart, 2, 15.0, 4.0, 1).unwrap_err();
    assert!(error.to_string().contains("only 1 of 2"), "{error}");
}

#[test]
fn a_grid_fills_the_area_and_connects_at_its_spacing() {
    for nodes in [2, 3, 25, 49, 50] {
        let range = grid_spacing(nodes, 15.0) * 1.001;
        let layout = Layout::draw(&Topology::Grid, nodes, 15.0, range, 1).unwrap();
        assert_eq!(layout.len(), nodes);
        assert!(layout.points.iter().all(|p| p.x <= 15.01 && p.y <= 15.01));
    }
}

#[test]
fn moves_are_bounded_and_leave_the_others_in_place() {
    let before = Layout::draw(&Topology::Random, 49, 15.0, 4.0, 3).unwrap();
    for up_to in [2.0, 16.0] {
        let after = before.with_moves(0.4, up_to, 15.0, 3).unwrap();
        let steps = before.points.iter().zip(&after.points);
        let steps: Vec<f64> = steps.map(|(a, b)| a.distance(*b)).collect();
        assert!(steps.iter().all(|s| *s <= up_to + 1e-9));
        assert_eq!(steps.iter().filter(|s| **s > 0.0).count(), 19);
        let inside = |v: f64| (0.0..=15.0).contains(&v);
        assert!(after.points.iter().all(|p| inside(p.x) && inside(p.y)));
    }
}
