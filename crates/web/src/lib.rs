//! A web server for one person: this program's own pages in that person's browser, and news of what goes on.
//! In: a [`Site`] that makes pages, and a [`Feed`] of news where there is some. Out: bytes to whoever knows the token of the address.
//! Knows nothing of runs, ledgers and reports. Everything has a limit: connections, sizes, times.
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

/// Connections that are open at once at most. One more ends the one that has waited longest without having shown the token.
pub const MOST_CONNECTIONS: usize = 64;
/// Browsers that follow the news at once at most.
pub const MOST_FOLLOWERS: usize = 8;
/// Bytes of a request at most, its line and all headers.
pub const LONGEST_REQUEST: usize = 8 << 10;
/// Headers of a request at most.
pub const MOST_HEADERS: usize = 48;

/// What bytes that came in at an address ask for, by the token: `None` where the request is not whole yet. It is what a server does with
/// bytes of anybody, without a connection.
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
