//! Handler tests: the thesis's examples, its mistakes, and the repairs. Messages are delivered by hand; the
//! model checker delivers them in every order.

mod examples;
mod rules;
mod schedules;
mod trees;

use super::desk::Desk;
use super::*;
use alloc::vec;
use alloc::vec::Vec;

use Mode::{CameraPaper, CameraRepaired, RicartAgrawala};

/// The settings of a mode over a lossless transport.
fn config(mode: Mode) -> Config {
    Config {
        retry: None,
        ..Config::new(mode)
    }
}

fn with_tree(mode: Mode) -> Config {
    Config {
        slow_path: SlowPath::Tree { failures: 2 },
        ..config(mode)
    }
}

/// The first request of a node, or a later one.
fn req(id: u64, seq: u64, count: u32) -> Request {
    Request {
        seq,
        id: NodeId(id),
        life: Life(1),
        count,
    }
}

fn ok(req: Request, cache: &[Request]) -> Msg {
    Msg::Ok {
        req,
        cache: cache.to_vec(),
        more: Vec::new(),
    }
}

fn request(req: Request) -> Msg {
    Msg::Request { req, asked: None }
}
