//! The bodies of the fuzz targets. They are functions of the input alone, so that a test can replay the corpora without
//! a fuzzer.

mod config;
pub mod datagram;
mod frame;
mod http_body;
pub mod net;
mod node_ops;
mod state;

pub use config::config;
pub use datagram::{datagram_open, datagram_sealed};
pub use frame::frame;
pub use http_body::http_body;
pub use node_ops::node_ops;
pub use state::state;

/// The targets by name.
pub const TARGETS: [(&str, fn(&[u8])); 7] = [
    ("datagram_open", datagram_open),
    ("datagram_sealed", datagram_sealed),
    ("frame", frame),
    ("state", state),
    ("config", config),
    ("http_body", http_body),
    ("node_ops", node_ops),
];
