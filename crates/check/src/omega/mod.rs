//! Leaders of moving networks: links that come and go, what is noticed when, what arrives in which order.
//!
//! A world is a few nodes and who hears whom. Links change, detectors notice it sooner or later at either end,
//! messages that were sent while a link was there arrive at any later time, processes crash and start again
//! without memory. When nothing is left to happen, everybody must see the component that is there and follow
//! the node in the middle of it.
//!
//! The papers' protocols must fail here, and for the reasons that are known: a run that ends wrong is told
//! apart by what showed on the way ([`Flaws`]), and each flaw must be found alone in some run.

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
