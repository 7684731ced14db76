//! A web server for one user: this program's own pages, and events about a run, in the user's browser.
//! In: a [`Site`] that makes pages, and optionally a [`Feed`] of events. Out: bytes to browsers that know the token in the address.
//! Independent of runs, ledgers and reports. Connections, sizes and times are limited.
//!
//! ```no_run
//! use web::{Answer, Asked, Server, Site};
//!
//! struct Hello;
//! impl Site for Hello {
//!     fn answer(&mut self, asked: &Asked) -> Answer {
//!         if asked.page.is_empty() { Answer::page("<!DOCTYPE html><title>Hello</title>".into()) } else { Answer::nothing_there() }
//!     }
//! }
//!
//! let server = Server::bind("127.0.0.1:0".parse()?)?;
//! println!("{}", server.url());
//! server.serve(&mut Hello, None)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod connection;
mod error;
mod feed;
mod guard;
mod request;
mod server;

use std::net::SocketAddr;

pub use answer::Answer;
pub use error::WebError;
pub use feed::Feed;
pub use request::Asked;
pub use server::{Server, Site};

/// Most connections open at once. One more closes the oldest that has not sent a valid token; if there is none, the new one is closed.
pub const MOST_CONNECTIONS: usize = 64;
/// Most browsers that may follow at once.
pub const MOST_FOLLOWERS: usize = 8;
/// Most bytes of a request: its line and all headers.
pub const LONGEST_REQUEST: usize = 8 << 10;
/// Most headers of a request.
pub const MOST_HEADERS: usize = 48;

/// What the bytes received at an address request; `None` while the request is incomplete. The server treats untrusted bytes in this way;
/// here no connection is needed.
///
/// # Errors
/// The status with which the request is refused: 400, 403, 404, 405 or 431.
pub fn asked(bytes: &[u8], at: SocketAddr, token: &str) -> Result<Option<Asked>, u16> {
    match request::read(bytes) {
        request::Reading::More => Ok(None),
        request::Reading::Refused(status) => Err(status),
        request::Reading::Whole(head) => guard::admitted(&head, at, token).map(Some),
    }
}
