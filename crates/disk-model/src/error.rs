//! Errors in the description of a disk.
//! In: the content of a file. Out: one sentence with the file, the key, and what is allowed.

/// Why a description is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// It is not TOML, or has an unknown or a missing key; the text names the line and the key.
    #[error("disk model {file}: {problem}")]
    Syntax {
        /// The file.
        file: String,
        /// The parser's message.
        problem: String,
    },
    /// A number out of range.
    #[error("disk model {file}: {key} is {value}, and must be between {lowest} and {highest}")]
    Range {
        /// The file.
        file: String,
        /// The key with its table: `seek.average_ms`.
        key: String,
        /// The number.
        value: f64,
        /// The lowest allowed number.
        lowest: f64,
        /// The highest allowed number.
        highest: f64,
    },
    /// Inconsistent keys, or a number without a source.
    #[error("disk model {file}: {key}: {problem}")]
    Contradiction {
        /// The file.
        file: String,
        /// The key with its table.
        key: String,
        /// The problem.
        problem: String,
    },
}
