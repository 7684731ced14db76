//! How the program ends on an error: one clear sentence, and an exit status.
//! In: any error. Out: text for standard error and an exit status.

/// An error that ends the program.
#[derive(Debug)]
pub struct Failure {
    /// What was done, to what, what the answer was, and what to do about it.
    pub text: String,
    /// Exit status.
    pub status: u8,
}

impl Failure {
    /// An error with status 1.
    pub fn new(text: impl std::fmt::Display) -> Self {
        Self { text: text.to_string(), status: 1 }
    }

    /// A command line that cannot be understood: status 2.
    pub fn usage(text: impl std::fmt::Display) -> Self {
        Self { text: text.to_string(), status: 2 }
    }
}

/// Parses the value of an option; an error names both.
pub fn given<T>(option: &str, value: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Result<T, Failure> {
    read(value).map_err(|problem| Failure::usage(format!("{option} {value}: {problem}")))
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}
