//! When captions are shown.

use super::*;
use clap::ValueEnum;

const STEP: Duration = Duration::from_millis(100);

/// A group in which everything that a scene can wait for has happened, node `leader` leading.
fn all(leader: usize) -> Seen {
    let everyone: BTreeSet<usize> = (1..=5).collect();
    Seen {
        nodes: 5,
        leader: Some(leader),
        leaders: 1,
        suspected: everyone.clone(),
        failed: everyone.clone(),
        back: everyone.clone(),
        refuted: 100,
        holders: everyone,
        agree: true,
        apart: false,
    }
}

/// A group in which one event has happened, and nothing else; `victim` is the node that was killed.
fn just(cue: Cue, victim: Option<usize>) -> Seen {
    let victim: BTreeSet<usize> = victim.into_iter().collect();
    let mut seen = Seen {
        nodes: 5,
        ..Seen::default()
    };
    match cue {
        Cue::Read => {}
        Cue::Leads => seen.leader = Some(2),
        Cue::Suspected => seen.suspected = victim,
        Cue::Failed => seen.failed = victim,
        Cue::Replaced => seen.leader = (1..=5).find(|n| !victim.contains(n)),
        Cue::Back => seen.back = victim,
        Cue::Apart => seen.apart = true,
        Cue::TwoLead => (seen.apart, seen.leaders) = (true, 2),
        Cue::Whole => (seen.agree, seen.leader, seen.leaders) = (true, Some(2), 1),
        Cue::Holds(node) => seen.holders = [node].into(),
        Cue::Refuted => seen.refuted = 1,
        Cue::Known => seen.agree = true,
    }
    seen
}

/// Every caption is shown after its event and not before, however long that takes; and not before the one ahead of it
/// has been read, however early its event comes.
#[test]
fn a_caption_is_shown_after_its_event_and_after_the_one_before_was_read() {
    for scene in Scene::value_variants() {
        let mut player = Player::new(*scene);
        let mut at = Duration::ZERO;
        for &(cue, caption, _) in scene.steps() {
            let event = just(cue, player.victim);
            // Too early: the caption before is still being read.
            while at + STEP < player.read {
                assert_eq!(player.step(at, &event), None, "{scene:?}: {caption}");
                at += STEP;
            }
            at = player.read;
            if cue != Cue::Read {
                let nothing = just(Cue::Read, None);
                for _ in 0..100 {
                    assert_eq!(player.step(at, &nothing), None, "{scene:?}: {caption}");
                    at += STEP;
                }
            }
            let (said, _) = player.step(at, &event).unwrap();
            assert_eq!(said, caption, "{scene:?}");
            at += STEP;
        }
        assert!(player.is_over());
    }
}

#[test]
fn an_event_that_does_not_happen_ends_the_scene_and_the_caption_says_so() {
    for scene in Scene::value_variants() {
        let mut player = Player::new(*scene);
        let nothing = Seen {
            nodes: 5,
            ..Seen::default()
        };
        let (mut at, mut said) = (Duration::ZERO, Vec::new());
        while !player.is_over() {
            said.extend(player.step(at, &nothing).map(|(caption, _)| caption));
            at += STEP;
            assert!(at < Duration::from_secs(200), "{scene:?} goes on forever");
        }
        let steps = scene.steps().iter();
        let waits = steps.clone().find(|(cue, ..)| cue.missing().is_some());
        let Some((_, caption, _)) = waits else {
            // Only events that it can do without.
            assert_eq!(*scene, Scene::Mesh);
            assert!(!said.iter().any(|s| s.contains("by mistake")), "{said:?}");
            continue;
        };
        assert!(!said.iter().any(|s| s == caption), "{scene:?}: {caption}");
        let last = said.last().unwrap();
        assert!(last.contains("within 40 s: the scene ends."), "{last}");
        assert!(last.chars().count() <= 76, "{last}");
    }
}

#[test]
fn scenes_take_a_minute_and_their_captions_fit_eighty_columns() {
    for scene in Scene::value_variants() {
        let steps = scene.steps();
        let read: Duration = steps.iter().map(|(_, caption, _)| reading(caption)).sum();
        assert!((30..=55).contains(&read.as_secs()), "{scene:?}: {read:?}");
        for (_, caption, _) in steps {
            assert!(caption.chars().count() <= 76, "{caption}");
        }
    }
    assert!(RESIGN.chars().count() <= 76);
}

#[test]
fn the_node_of_the_dashboard_resigns_before_a_leader_is_killed() {
    let mut player = Player::new(Scene::Failover);
    let mut at = Duration::ZERO;
    assert!(player.step(at, &all(1)).is_some());
    at = player.read;
    let resign = Order::Resign { node: 1 };
    let told = player.step(at, &all(1));
    assert_eq!(told, Some((RESIGN.to_owned(), Some(resign))));
    at = player.read;
    assert_eq!(player.step(at, &all(1)), None, "once");
    let (_, order) = player.step(at, &all(3)).unwrap();
    assert_eq!(order, Some(Order::Kill { node: 3 }));
}

#[test]
fn who_leads_is_killed_and_the_same_one_revived() {
    let mut player = Player::new(Scene::Failover);
    let (mut at, mut leader, mut orders) = (Duration::ZERO, 4, Vec::new());
    while !player.is_over() {
        if let Some((_, order)) = player.step(at, &all(leader)) {
            leader = if order.is_some() { 2 } else { leader };
            orders.extend(order);
        }
        at += STEP;
    }
    let expected = [Order::Kill { node: 4 }, Order::Revive { node: 4 }];
    assert_eq!(orders, expected);
}
