//! Published results of others: claims, figures with their sources, and features, as CSV.
//! In: texts in the formats of `published/*.csv`, from this project or a user. Out: typed lines, or an error that names the line.
//! Independent of any run; published values are compared with runs elsewhere.

mod claims;
mod features;
mod figures;

pub use claims::{CLAIMS_LIMIT, Clock, Published, claims, claims_schema};
pub use features::{Feature, Features, features, range};
pub use figures::{Figure, Medium, Source, figures, sources};

/// Longest text that is read, in bytes.
pub const TEXT_LIMIT: usize = 4 << 20;
/// Longest quotation in an error, in characters.
const REPEATED: usize = 200;

/// Why a published text cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LiteratureError {
    /// It is too long.
    #[error("reading {file}: it has {length} bytes; the limit is {TEXT_LIMIT}")]
    TooLong {
        /// The file.
        file: String,
        /// Its length in bytes.
        length: usize,
    },
    /// A line does not have the expected format.
    #[error("reading {file}, {what} {number}: {why}")]
    Line {
        /// The file.
        file: String,
        /// Kind of its lines: `claim`, `figure`.
        what: &'static str,
        /// Number of the line, from 1; the headings do not count.
        number: usize,
        /// What is wrong.
        why: String,
    },
    /// It has no lines.
    #[error("reading {file}: it has no claim; see published/claims.csv for the format")]
    Empty {
        /// The file.
        file: String,
    },
}

/// Reads every line of a text into the form of `T`.
fn lines<T: serde::de::DeserializeOwned>(
    text: &str,
    file: &str,
    what: &'static str,
) -> Result<Vec<T>, LiteratureError> {
    short_enough(text, file)?;
    let read = csv::Reader::from_reader(text.as_bytes()).into_deserialize::<T>();
    let line = |(number, line): (usize, csv::Result<T>)| line.map_err(|error| wrong(file, what, number, &error));
    read.enumerate().map(line).collect()
}

fn short_enough(text: &str, file: &str) -> Result<(), LiteratureError> {
    match text.len() {
        length if length > TEXT_LIMIT => Err(LiteratureError::TooLong { file: file.into(), length }),
        _ => Ok(()),
    }
}

/// An error of the line with this number, counted from 0; quoted parts of the line are shortened.
fn wrong(file: &str, what: &'static str, number: usize, why: &impl std::fmt::Display) -> LiteratureError {
    let why: String = why.to_string().chars().take(REPEATED).collect();
    LiteratureError::Line { file: file.into(), what, number: number + 1, why }
}
