//! Leaders of moving networks: links that appear and disappear, when changes are noticed, and the order in which
//! messages arrive.
//!
//! A world consists of a few nodes and the links between them. Links change, detectors notice it sooner or later at
//! either end, messages that were sent while a link existed arrive at any later time, processes crash and restart
//! without stored state. When nothing is left to happen, every node must see its true component and follow the node
//! in the middle of it.
//!
//! The papers' protocols must fail here, for the known reasons: a run with a wrong result is classified by what
//! occurred in it ([`Flaws`]), and each flaw must be found alone in some run.

mod cases;
mod exhaust;
mod flaws;
mod hunt;
mod papers;
mod product;
mod scene;
mod schedule;
mod time;
mod world;

pub use cases::{Case, Found, cases, small, small_product, strain};
pub use exhaust::{Searched, Small};
pub use flaws::Flaws;
pub use hunt::{Chaos, Hunt, Hunted, run};
pub use product::settings;
pub use scene::{MAX, Scene, Set, members};
pub use schedule::{Outcome, Schedule, judge, rest};
pub use world::{Action, Core, Flight, Node, World, id, ids};
