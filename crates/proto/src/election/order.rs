//! Orders of the application.

use super::view::Env;
use super::{Candidacy, Election, ElectionCx, Policy, Report, TimerKind, View};
use crate::id::{ElectionId, NodeId, Term};

/// Orders to elections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Take part in an election: watch it, and hold it that way when it is due.
    Open(ElectionId, Policy),
    /// Stand in it.
    Campaign(ElectionId, Candidacy),
    /// Stand in it no more; a leader resigns.
    Withdraw(ElectionId),
    /// Stop leading; stand again when somebody else leads. With a successor named, it is told to lead.
    Resign(ElectionId, Option<NodeId>),
    /// Hold an election now, whoever leads.
    Hold(ElectionId),
    /// What was stored of earlier lives: no later leader gets a smaller term.
    RestoreTerm(ElectionId, Term),
}

impl Election {
    /// Carries out an order.
    pub(super) fn on_order(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, order: Order) {
        let started = self.started;
        let settles_at = self.settles_at(view.membership);
        match order {
            Order::Open(election, policy) => {
                self.with_race(cx, view, election, |race, cx, env, _| {
                    let told = race.told_centrality();
                    let first = race.policy.replace(policy).is_none();
                    if race.told_centrality() != told {
                        cx.emit(Report::Campaigns);
                    }
                    if first {
                        race.opened_at = if race.claim.is_some() {
                            started
                        } else {
                            env.now
                        };
                        cx.set_timer(race.timer(TimerKind::Settle), settles_at);
                        cx.set_timer(race.timer(TimerKind::Look), env.now + env.fresh());
                    }
                    let ranking = policy.ranking;
                    race.review(cx, Env { ranking, ..env });
                });
            }
            Order::Campaign(election, candidacy) => {
                self.with_race(cx, view, election, |race, cx, _, _| {
                    race.campaign(cx, candidacy);
                });
            }
            Order::Withdraw(election) => {
                self.with_race(cx, view, election, |race, cx, env, _| {
                    race.resign(cx, env);
                    race.returning = false;
                    race.candidacy = None;
                    race.end_run(cx);
                    cx.emit(Report::Campaigns);
                });
            }
            Order::Resign(election, to) => {
                self.with_race(cx, view, election, |race, cx, env, stats| {
                    let leads = race.is_named(env);
                    let handed = leads && to.is_some_and(|to| race.hand_over(cx, env, stats, to));
                    if !handed {
                        race.resign(cx, env);
                    }
                });
            }
            Order::Hold(election) => {
                self.with_race(cx, view, election, |race, cx, env, stats| {
                    if race.policy.is_some() && race.run.is_none() {
                        race.begin(cx, env, stats, true);
                    }
                });
            }
            Order::RestoreTerm(election, term) => {
                self.with_race(cx, view, election, |race, _, _, _| {
                    race.restore(term);
                });
            }
        }
    }
}
