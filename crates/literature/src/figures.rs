//! Published figures, and where they were published.
//! In: CSV with the columns of `published/results.csv` and `published/sources.csv`. Out: a [`Figure`] or [`Source`] a line.

use crate::{LiteratureError, lines, wrong};
use serde::Deserialize;

/// One published figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Figure {
    /// Key of its source.
    pub source: String,
    /// The machine, as named by the source.
    pub host: String,
    /// Release of its kernel.
    pub kernel: String,
    /// The device, as described by the source.
    pub device: String,
    /// Its storage medium.
    pub medium: Medium,
    /// The filesystem; empty where the source does not name it.
    pub filesystem: String,
    /// Its options.
    pub options: String,
    /// The I/O scheduler.
    pub scheduler: String,
    /// The workload, by the name in this project.
    pub workload: String,
    /// The operation, by the name in this project.
    pub operation: String,
    /// State of the cache.
    pub cache: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// Storage medium of a device: figures of one kind do not apply to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// Spinning discs, single or in a RAID.
    Hdd,
    /// Flash, whatever its interface.
    Flash,
}

impl Medium {
    /// Name of such devices.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hdd => "hard disks",
            Self::Flash => "flash",
        }
    }
}

/// Source of published figures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Source {
    /// Its key.
    pub source: String,
    /// Its title.
    pub title: String,
    /// When it was published.
    pub year: String,
    /// The hardware measured on.
    pub hardware: String,
}

/// Every figure of a text; `file` names it in errors.
///
/// # Errors
/// A text that is too long, a line in another format, or a value that is not a number.
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
/// A text that is too long, or a line in another format.
pub fn sources(text: &str, file: &str) -> Result<Vec<Source>, LiteratureError> {
    lines(text, file, "source")
}
