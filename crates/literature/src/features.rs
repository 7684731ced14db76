//! Published features of filesystems.
//! In: CSV with the columns of `published/features.csv`: source, feature, then one for each filesystem. Out: [`Features`].
//! Published sizes are taken in powers of 1,024.

use crate::{LiteratureError, short_enough, wrong};

/// Published features of some filesystems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    /// The filesystems, in the order of the answers.
    pub filesystems: Vec<String>,
    /// The features.
    pub features: Vec<Feature>,
}

/// One feature in one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Key of its source.
    pub source: String,
    /// The feature.
    pub feature: String,
    /// An answer for each filesystem: `yes`, `no`, a size or a range.
    pub answers: Vec<String>,
}

/// Every feature of a text; `file` names it in errors.
///
/// # Errors
/// A text that is too long, or a line that has another number of fields than the headings.
pub fn features(text: &str, file: &str) -> Result<Features, LiteratureError> {
    short_enough(text, file)?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headings = reader.headers().map_err(|error| wrong(file, "heading", 0, &error))?;
    let filesystems = headings.iter().skip(2).map(str::to_owned).collect();
    let mut features = Vec::new();
    for (number, line) in reader.records().enumerate() {
        let line = line.map_err(|error| wrong(file, "feature", number, &error))?;
        let (Some(source), Some(feature)) = (line.get(0), line.get(1)) else { continue };
        let answers = line.iter().skip(2).map(str::to_owned).collect();
        features.push(Feature { source: source.into(), feature: feature.into(), answers });
    }
    Ok(Features { filesystems, features })
}

/// `16 GB to 16 TB (depends on block size)` as bytes from and to; one size is both.
pub fn range(text: &str) -> Option<(f64, f64)> {
    let plain = text.split('(').next().unwrap_or_default();
    let mut sizes = plain.split(" to ").map(size);
    let first = sizes.next()??;
    Some((first, sizes.next().flatten().unwrap_or(first)))
}

fn size(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    let power = units.iter().position(|known| *known == unit.trim())?;
    let number = number.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)?;
    Some(number * 1024f64.powi(power as i32))
}
