//! Candidates that stand by how central they are, or by how rarely they fail.

use super::*;

const CENTRAL: Candidacy = Candidacy {
    class: 0,
    attribute: 77,
    rank_by: RankBy::Centrality,
};

impl Bench {
    fn centrality(&mut self, level: u8) -> Effects {
        self.levels(Levels {
            centrality: level,
            reliability: 3,
        })
    }

    fn levels(&mut self, levels: Levels) -> Effects {
        self.step(|e, cx, view| e.on_input(cx, view, Input::Levels(levels)))
    }

    /// What membership is told to announce.
    fn announced(&self) -> u32 {
        let campaigns = self.e.campaigns(self.now, &self.m);
        campaigns.first().expect("it stands").attribute
    }
}

fn level_timer(at: Instant) -> Effect<Msg, Timer, Report> {
    let kind = TimerKind::Level;
    Effect::SetTimer(Timer { election: E, kind }, at)
}

#[test]
fn a_level_is_told_when_it_has_lasted_and_seldom() {
    let mut bench = Bench::new(1, 3, 1);
    bench.centrality(9);
    assert_eq!(bench.announced(), 0, "others stand by their attribute");
    let effects = bench.order(Order::Campaign(E, CENTRAL));
    assert_eq!(effects, [Effect::Emit(Report::Campaigns)]);
    assert_eq!(bench.announced(), 9, "the first as it is");
    bench.wait(Duration::from_secs(60));

    let start = bench.now;
    let due = start + Duration::from_secs(5);
    assert_eq!(bench.centrality(5), [level_timer(due)]);
    // It comes and goes: the five seconds begin again.
    bench.wait(ms(3000));
    let due = bench.now + Duration::from_secs(5);
    assert_eq!(bench.centrality(4), [level_timer(due)]);
    bench.wait(ms(2500));
    assert_eq!(bench.centrality(4), [level_timer(due)]);
    assert_eq!(bench.timer(TimerKind::Level), [], "too early");
    assert_eq!(bench.announced(), 9);
    bench.wait(ms(2500));
    let told = bench.timer(TimerKind::Level);
    assert_eq!(told, [Effect::Emit(Report::Campaigns)]);
    assert_eq!(bench.announced(), 4);
    assert_eq!(bench.timer(TimerKind::Level), [], "once");

    // Ten seconds between two, however long it lasts.
    let told_at = bench.now;
    let due = told_at + Duration::from_secs(10);
    assert_eq!(bench.centrality(8), [level_timer(due)]);
    bench.wait(ms(6000));
    assert_eq!(bench.timer(TimerKind::Level), []);
    // As it was before: nothing to tell.
    let kind = TimerKind::Level;
    let cancelled = Effect::CancelTimer(Timer { election: E, kind });
    assert_eq!(bench.centrality(4), [cancelled]);
    bench.wait(ms(60_000));
    assert_eq!(bench.timer(TimerKind::Level), []);
    assert_eq!(bench.announced(), 4);
}

#[test]
fn standing_again_the_same_way_changes_nothing_and_by_attribute_ends_it() {
    let mut bench = Bench::new(1, 3, 1);
    bench.centrality(6);
    bench.order(Order::Campaign(E, CENTRAL));
    bench.centrality(2);
    assert_eq!(bench.order(Order::Campaign(E, CENTRAL)), []);
    assert_eq!(bench.announced(), 6, "a repeated order is no news");
    let given = Candidacy {
        rank_by: RankBy::Attribute,
        ..CENTRAL
    };
    bench.order(Order::Campaign(E, given));
    assert_eq!(bench.announced(), 77);
    bench.wait(ms(60_000));
    assert_eq!(bench.timer(TimerKind::Level), []);
}

#[test]
fn who_stands_by_its_reliability_tells_what_others_say_of_it() {
    let mut bench = Bench::new(1, 3, 1);
    let levels = |centrality, reliability| Levels {
        centrality,
        reliability,
    };
    bench.levels(levels(1, 6));
    let reliable = Candidacy {
        rank_by: RankBy::Reliability,
        ..CENTRAL
    };
    bench.order(Order::Campaign(E, reliable));
    assert_eq!(bench.announced(), 6);
    bench.wait(ms(60_000));
    let kind = TimerKind::Level;
    let nothing = [Effect::CancelTimer(Timer { election: E, kind })];
    assert_eq!(
        bench.levels(levels(9, 6)),
        nothing,
        "its place does not count"
    );
    let due = bench.now + Duration::from_secs(5);
    assert_eq!(bench.levels(levels(9, 4)), [level_timer(due)]);
    bench.wait(ms(5000));
    bench.timer(TimerKind::Level);
    assert_eq!(bench.announced(), 4);
}
