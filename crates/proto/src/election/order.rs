//! Orders of the application.

use super::view::Env;
use super::{Candidacy, Election, ElectionCx, Policy, Report, TimerKind, Token, View};
use crate::id::{ElectionId, NodeId, Term};
use crate::lease::Record;
use alloc::boxed::Box;

/// Orders to elections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Take part in an election: watch it, and hold it that way when it is due.
    Open(ElectionId, Policy),
    /// Stand in it.
    Campaign(ElectionId, Candidacy),
    /// Stop standing in it; a leader resigns.
    Withdraw(ElectionId),
    /// Stop leading; stand again when somebody else leads. With a successor named, it is told to lead.
    Resign(ElectionId, Option<NodeId>),
    /// Hold an election now, whoever leads.
    Hold(ElectionId),
    /// What was stored of earlier lives: no later leader gets a smaller term.
    RestoreTerm(ElectionId, Term),
    /// What was stored of earlier lives about leases.
    RestoreLease(ElectionId, Box<Record>),
    /// The work by this token has ended: a lease that was given up is released at once.
    Stopped(ElectionId, Token),
    /// Give up watchers that are lost for good, where the election is strict: a majority of the floor begins anew.
    Forget(ElectionId),
}

impl Election {
    /// Carries out an order.
    pub(super) fn on_order(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, order: Order) {
        let started = self.started;
        let settles_at = super::settles_at(self.started, view.membership);
        match order {
            // A client that goes on asking would keep this node from leaving.
            Order::Campaign(..) | Order::Hold(_) if self.leaving => {}
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
                    race.candidacy = None;
                    race.resign(cx, env);
                    race.returning = false;
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
            Order::RestoreLease(election, record) => {
                self.with_race(cx, view, election, |race, cx, env, _| {
                    race.restore_lease(env, *record);
                    race.on_promise(cx, env);
                });
            }
            Order::Stopped(election, token) => {
                self.with_race(cx, view, election, |race, cx, env, _| {
                    race.on_stopped(cx, env, token);
                });
            }
            Order::Forget(election) => {
                self.with_race(cx, view, election, |race, cx, env, _| {
                    race.tenure.forgiven = true;
                    race.review(cx, env);
                });
            }
        }
    }
}
