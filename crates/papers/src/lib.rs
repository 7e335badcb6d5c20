//! Published protocols and the baselines they are compared with, as printed, mistakes included.
//!
//! They serve to reproduce figures, to show what goes wrong, and as a comparison for the product. They are not
//! meant to be deployed: use [`consort_proto`] for that. They use its vocabulary ([`consort_proto::Protocol`],
//! [`consort_proto::Cx`]) and nothing else of it, so the simulator and the model checker drive both alike.
//!
//! | module | what | instead |
//! |---|---|---|
//! | [`election`] | churn-tolerant elections of the thesis, asking everybody, bully | [`consort_proto::election`] |
//! | [`churn`] | estimators of how many lists lack a node | [`consort_proto::churn`] |
//! | [`mutex`] | Ricart and Agrawala, Camera as published and repaired | [`consort_proto::mutex`] |
//! | [`omega`] | Topology Aware, CEL, Flooding Degree, Gómez-Calzado | [`consort_proto::omega`] |
//! | [`bandit`] | elections that learn who fails (BLE), also with terms | [`consort_proto::reliability`] |
//!
//! The papers' membership is a set of settings of the product's (`membership::Config::paper`), some of which exist
//! only behind the private feature `_papers` of `consort-proto`.
//!
//! `no_std` excludes clocks, sockets and hash maps, as in the core.
#![no_std]

extern crate alloc;

pub mod bandit;
pub mod churn;
pub mod election;
pub mod mutex;
pub mod omega;
