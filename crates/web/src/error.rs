//! Errors of the server, each with a remedy for the user.
//! In: the system's error. Out: one sentence.

use std::io;
use std::net::SocketAddr;

/// Why the server cannot work.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The address is not available.
    #[error("listening on {address}: {answer}; give another address and port, such as 127.0.0.1:0 for any free port")]
    Listening {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        answer: io::Error,
    },
    /// The system provides no randomness or no file descriptor.
    #[error("preparing to serve pages: {doing}: {answer}")]
    Preparing {
        /// The failed action.
        doing: &'static str,
        /// The system's error.
        answer: io::Error,
    },
    /// Waiting for connections failed.
    #[error("waiting for connections on {address}: {answer}; start it again")]
    Waiting {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        answer: io::Error,
    },
}
