//! A typed client of the agent's HTTP interface.
//!
//! An agent (`consort agent`) is a node of a group with an HTTP interface for programs on its machine. [`Client`] sends
//! requests to it over TCP or a Unix socket; [`api`] has the bodies of requests and answers. The command line of Consort
//! is built on this crate. A program that wants to be a node itself uses the library `consort` instead.
//!
//! ```no_run
//! use consort_client::api::LockRequest;
//! use consort_client::{Client, HttpAddr};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(HttpAddr::default());
//! for member in client.members().await? {
//!     println!("{} is {} at {}", member.name, member.status, member.address);
//! }
//!
//! // The lock is held for as long as the stream is read.
//! let mut lock = client.take_lock("backup", &LockRequest::default()).await?;
//! while let Some(state) = lock.next().await? {
//!     match state.event.as_str() {
//!         "granted" => println!("granted with the token {:?}", state.token),
//!         "lost" => break,
//!         _ => {}
//!     }
//! }
//!
//! let mut events = client.events(Some(0)).await?;
//! while let Some(event) = events.next().await? {
//!     println!("{} {}", event.seq, event.event);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Futures need a Tokio runtime with I/O and time enabled. Every request uses a connection of its own, so a client is
//! cheap to keep and to clone.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "this crate needs std; naming alloc would tell nothing"
)]

mod addr;
pub mod api;
mod calls;
mod client;
mod stream;
mod tls;

pub use addr::{DEFAULT_HTTP_PORT, HttpAddr, HttpAddrError};
pub use client::{Client, ClientError, encoded, path};
pub use stream::{EventParser, EventStream, StreamError};
pub use tls::TrustError;
