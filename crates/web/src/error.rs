//! What can go wrong with a server, each with what the person can do.
//! In: what the system answered. Out: one sentence.

use std::io;
use std::net::SocketAddr;

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The address cannot be had.
    #[error("listening on {address}: {answer}; give another address and port, such as 127.0.0.1:0 for any free port")]
    Listening {
        /// Which.
        address: SocketAddr,
        /// What the system answered.
        answer: io::Error,
    },
    /// The system gives no randomness or no descriptor.
    #[error("preparing to serve pages: {doing}: {answer}")]
    Preparing {
        /// What was being done.
        doing: &'static str,
        /// What the system answered.
        answer: io::Error,
    },
    /// Waiting for connections failed.
    #[error("waiting for connections on {address}: {answer}; start it again")]
    Waiting {
        /// Where.
        address: SocketAddr,
        /// What the system answered.
        answer: io::Error,
    },
}
