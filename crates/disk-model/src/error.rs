//! What can be wrong with the description of a disk.
//! In: what a file says. Out: one sentence with the file, the key, and what is allowed.

/// Why a description cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// It is no TOML, has a key that is not known or lacks one; the text names the line and the key.
    #[error("disk model {file}: {problem}")]
    Syntax {
        /// The file.
        file: String,
        /// What the reader of TOML says.
        problem: String,
    },
    /// A number out of its range.
    #[error("disk model {file}: {key} is {value}, and must be between {lowest} and {highest}")]
    Range {
        /// The file.
        file: String,
        /// The key with its table: `seek.average_ms`.
        key: String,
        /// What it is.
        value: f64,
        /// The lowest number that is allowed.
        lowest: f64,
        /// The highest.
        highest: f64,
    },
    /// Keys that do not go together, or a number without its source.
    #[error("disk model {file}: {key}: {problem}")]
    Contradiction {
        /// The file.
        file: String,
        /// The key with its table.
        key: String,
        /// What is wrong.
        problem: String,
    },
}
