//! Runs real `consort` agents and clients as processes under random faults determined by a seed, and checks what
//! they did.
//!
//! Agents communicate through proxies inside this process that lose, delay and cut ([`net`]). Clients are `consort
//! lock`, `consort elect` and holders that use HTTP; a supervisor restarts them whenever they end ([`client`],
//! [`holder`]). Each guards a command that writes to a log when it begins, every ten milliseconds, and when it
//! ends, by the clock that all processes of a machine share ([`work`]). The checker reads that log ([`check`]).
//!
//! One seed gives one order of faults and of the clients' choices. Their exact timing depends on the machine, so a
//! seed repeats a run only as far as real time allows.
//!
//! Not covered: clocks that are set (this needs root), machines that are suspended, full disks, and processes that
//! leave their process group.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "a test of processes needs std; naming alloc would tell nothing"
)]

pub mod agent;
pub mod check;
pub mod client;
pub mod clock;
pub mod fault;
pub mod history;
pub mod holder;
pub mod http;
mod inject;
pub mod net;
pub mod process;
pub mod record;
pub mod report;
pub mod run;
pub mod settings;
pub mod variant;
pub mod work;
mod world;
