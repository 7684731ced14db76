//! Published features compared with the results here.
//! In: `published/features.csv` and answers. Out: a [`Beside`] for each published cell whose filesystem was probed.
//! Published sizes count in powers of 1,024; a range agrees with any value inside it.

use crate::failure::Failure;
use records::feature::Probed;
use schemars::JsonSchema;
use serde::Serialize;

const FEATURES: &str = include_str!("../../published/features.csv");
/// Relative difference up to which two sizes are the same: limits are often a block short of a power.
const SAME: f64 = 0.001;

/// The questions of a published feature; any of them can confirm it.
const ABOUT: [(&str, &[&str]); 7] = [
    ("file name", &["name_bytes"]),
    ("max file size", &["file_size"]),
    ("max volume size", &["volume_size"]),
    ("checksum (error check)", &["checksum_data", "checksum_metadata"]),
    ("snapshots", &["snapshots"]),
    ("mirroring and striping in the filesystem", &["several_devices"]),
    ("compression", &["compression"]),
];

/// One published cell compared with the result here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Beside {
    /// Where it was published.
    pub source: String,
    /// The feature as published.
    pub feature: String,
    /// The filesystem.
    pub filesystem: String,
    /// What was published.
    pub published: String,
    /// Questions that were compared with it.
    pub keys: Vec<String>,
    /// What was found, in words.
    pub found: String,
    /// Whether they agree; absent where it is not known.
    pub agrees: Option<bool>,
}

/// All published cells about the probed filesystems.
///
/// # Errors
/// The published file cannot be read.
pub fn published(probed: &[Probed]) -> Result<Vec<Beside>, Failure> {
    let read = literature::features(FEATURES, "published/features.csv")?;
    let mut beside = Vec::new();
    for line in &read.features {
        let Some((_, keys)) = ABOUT.iter().find(|(known, _)| *known == line.feature) else { continue };
        for (filesystem, note) in read.filesystems.iter().zip(&line.answers) {
            if let Some(one) = probed.iter().find(|one| one.name == *filesystem) {
                beside.push(cell(one, (&line.source, &line.feature, note), keys));
            }
        }
    }
    Ok(beside)
}

fn cell(probed: &Probed, (source, feature, note): (&str, &str, &str), keys: &[&str]) -> Beside {
    let answers: Vec<_> = keys.iter().filter_map(|key| Some((*key, probed.answer(key)?))).collect();
    let found = match answers.as_slice() {
        [(_, one)] => one.text.clone(),
        several => several
            .iter()
            .map(|(key, answer)| format!("{}: {}", key.rsplit('_').next().unwrap_or(key), answer.text))
            .collect::<Vec<_>>()
            .join(", "),
    };
    let agrees = match note {
        "yes" | "no" => {
            let has: Vec<bool> = answers.iter().filter_map(|(_, answer)| answer.has).collect();
            (!has.is_empty()).then(|| has.contains(&true) == (note == "yes"))
        }
        _ => literature::range(note).zip(answers.first().and_then(|(_, answer)| answer.amount)).map(
            |((low, high), amount)| {
                let amount = amount as f64;
                amount >= low * (1.0 - SAME) && amount <= high * (1.0 + SAME)
            },
        ),
    };
    Beside {
        source: source.into(),
        feature: feature.into(),
        filesystem: probed.name.clone(),
        published: note.into(),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        found,
        agrees,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::feature::{Answer, Feature};

    fn probed(key: &str, answer: Answer) -> Probed {
        let feature = Feature { key: key.into(), title: String::new(), answer };
        Probed { name: "ext4".into(), kernel: None, features: vec![feature] }
    }

    fn amount(bytes: u64) -> Answer {
        Answer { amount: Some(bytes), text: bytes.to_string(), ..Answer::default() }
    }

    #[test]
    fn sizes_agree_within_their_range_and_a_block_beside_it() {
        let agrees =
            |note: &str, bytes| cell(&probed("file_size", amount(bytes)), ("s", "f", note), &["file_size"]).agrees;
        assert_eq!(agrees("16 GB to 16 TB (depends on block size)", (16 << 40) - 4096), Some(true));
        assert_eq!(agrees("256 B", 255), Some(false));
        assert_eq!(agrees("255 B", 255), Some(true));
        assert_eq!(agrees("unknown", 255), None);
    }

    #[test]
    fn every_published_feature_is_about_a_question() {
        let keys: Vec<&str> = staging::features::QUESTIONS.iter().map(|(key, _)| *key).collect();
        assert!(ABOUT.iter().flat_map(|(_, about)| *about).all(|key| keys.contains(key)));
        let yes = Answer { has: Some(true), text: "yes".into(), ..Answer::default() };
        let beside = published(&[probed("snapshots", yes)]).unwrap_or_else(|failure| panic!("{}", failure.text));
        let lines = FEATURES.lines().count() - 1;
        assert_eq!(beside.len(), lines, "ext4 is published in every line");
        let snapshots = beside.iter().find(|one| one.feature == "snapshots").expect("published");
        assert_eq!((snapshots.published.as_str(), snapshots.agrees), ("no", Some(false)));
    }
}
