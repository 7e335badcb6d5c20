//! Real `consort` agents and clients, as processes, under random faults by seed; and a checker of what they did.
//!
//! Agents talk through proxies inside this process that lose, delay and cut ([`net`]). Clients are `consort lock`,
//! `consort elect` and holders that speak HTTP; a supervisor starts them again whenever they end ([`client`],
//! [`holder`]). What they guard is a command that writes to a log when it begins, every ten milliseconds, and when
//! it ends, by the clock that all processes of a machine share ([`work`]). The checker reads that log ([`check`]).
//!
//! One seed gives one order of faults and of the clients' choices. When exactly they strike depends on the machine,
//! so a seed repeats a run as far as real time allows.
//!
//! Left out: clocks that are set (it takes root), machines that sleep, full disks, and processes that leave their
//! process group.
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
pub mod work;
mod world;
