//! Published figures, and where they were published.
//! In: CSV with the columns of `published/results.csv` and `published/sources.csv`. Out: a [`Figure`] or [`Source`] a line.

use crate::{LiteratureError, lines, wrong};
use serde::Deserialize;

/// One figure, as it was published.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Figure {
    /// Key of its source.
    pub source: String,
    /// The machine, by the name that the source gives it.
    pub host: String,
    /// Release of its kernel.
    pub kernel: String,
    /// The device, by what the source says of it.
    pub device: String,
    /// What it keeps data on.
    pub medium: Medium,
    /// The filesystem; empty where the source does not say.
    pub filesystem: String,
    /// Its options.
    pub options: String,
    /// The I/O scheduler.
    pub scheduler: String,
    /// The workload, by our name.
    pub workload: String,
    /// The operation, by our name.
    pub operation: String,
    /// State of the cache.
    pub cache: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// What a device keeps data on: figures of one kind say nothing about the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// Discs that turn, alone or several in a RAID.
    Hdd,
    /// Flash, whatever it is attached to.
    Flash,
}

impl Medium {
    /// What such devices are called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hdd => "hard disks",
            Self::Flash => "flash",
        }
    }
}

/// Where figures were published.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Source {
    /// Its key.
    pub source: String,
    /// Its title.
    pub title: String,
    /// When it was published.
    pub year: String,
    /// What was measured on.
    pub hardware: String,
}

/// Every figure of a text; `file` names it in errors.
///
/// # Errors
/// A text that is too long, a line that has another form, or a value that is no number.
pub fn figures(text: &str, file: &str) -> Result<Vec<Figure>, LiteratureError> {
    let figures: Vec<Figure> = lines(text, file, "figure")?;
    match figures.iter().position(|figure| !figure.value.is_finite()) {
        Some(number) => Err(wrong(file, "figure", number, &"its value is not a number")),
        None => Ok(figures),
    }
}

/// Every source of a text; `file` names it in errors.
///
/// # Errors
/// A text that is too long, or a line that has another form.
pub fn sources(text: &str, file: &str) -> Result<Vec<Source>, LiteratureError> {
    lines(text, file, "source")
}
