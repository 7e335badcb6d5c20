//! Orders of the application.

use super::view::Env;
use super::{Candidacy, Election, ElectionCx, Policy, Report, TimerKind, Token, View};
use crate::id::{ElectionId, NodeId, Term};
use crate::lease::Record;
use alloc::boxed::Box;

/// An order to the election layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Take part in an election: follow it, and run rounds with this policy when they are due.
    Open(ElectionId, Policy),
    /// Campaign in the election.
    Campaign(ElectionId, Candidacy),
    /// Stop campaigning in the election; a leader resigns.
    Withdraw(ElectionId),
    /// Stop leading, and campaign again once another node leads. If a successor is named, it is asked to lead.
    Resign(ElectionId, Option<NodeId>),
    /// Run a round now, even if there is a leader.
    Hold(ElectionId),
    /// Restore the term that an earlier life stored. No later leader gets a smaller term.
    RestoreTerm(ElectionId, Term),
    /// Restore the lease record that an earlier life stored.
    RestoreLease(ElectionId, Box<Record>),
    /// The work under this token has ended. If the lease was given up, it is released at once.
    Stopped(ElectionId, Token),
    /// Give up watchers that are lost for good in a strict election. A majority of the floor then begins a new line. Has
    /// no effect while a majority of the watchers is not reported as gone.
    Forget(ElectionId),
}

impl Election {
    /// Carries out an order.
    pub(super) fn on_order(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, order: Order) {
        let started = self.started;
        let settles_at = super::settles_at(self.started, view.membership);
        match order {
            // A client that keeps asking must not keep this node from leaving.
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
                    race.end_round(cx);
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
                    if race.policy.is_some() && race.round.is_none() {
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
                    race.tenure.forgiven = race.is_quorum_lost(env);
                    race.review(cx, env);
                });
            }
        }
    }
}
