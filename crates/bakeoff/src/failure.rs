//! How the program ends when it can't go on: one clear sentence, and a status.
//! In: any error. Out: text for standard error and an exit status.

/// An error that ends the program.
#[derive(Debug)]
pub struct Failure {
    /// What was being done, to what, what was answered, what to do.
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

/// The value of an option, read; a refusal names both.
pub fn given<T>(option: &str, value: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Result<T, Failure> {
    read(value).map_err(|problem| Failure::usage(format!("{option} {value}: {problem}")))
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}
