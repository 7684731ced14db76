//! What others have published: claims, figures, sources, features.
//! In: bytes of a CSV file. Out: nothing; numbers that were read are numbers.

use crate::assert_said;
use ::literature::{CLAIMS_LIMIT, claims, features, figures, range, sources};

const FILE: &str = "fuzzed.csv";

/// One text in the form that its first byte chooses.
pub fn all(data: &[u8]) {
    let Some((form, data)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(data);
    match form % 4 {
        0 => read_claims(&text),
        1 => match figures(&text, FILE) {
            Ok(figures) => assert!(figures.iter().all(|figure| figure.value.is_finite())),
            Err(refusal) => assert_said("figures", &refusal.to_string()),
        },
        2 => match sources(&text, FILE) {
            Ok(sources) => assert!(sources.len() <= text.len()),
            Err(refusal) => assert_said("sources", &refusal.to_string()),
        },
        _ => read_features(&text),
    }
}

fn read_claims(text: &str) {
    match claims(text, FILE) {
        Ok(claims) => {
            assert!((1..=CLAIMS_LIMIT).contains(&claims.len()));
            let factors = claims.iter().filter_map(|claim| claim.claim.factor);
            factors.for_each(|factor| assert!(factor.is_finite() && factor > 0.0));
        }
        Err(refusal) => assert_said("claims", &refusal.to_string()),
    }
}

fn read_features(text: &str) {
    match features(text, FILE) {
        Ok(read) => {
            let answers = read.features.iter().flat_map(|feature| &feature.answers);
            for (low, high) in answers.filter_map(|answer| range(answer)) {
                assert!(low >= 0.0 && high >= 0.0, "{low} to {high}");
            }
        }
        Err(refusal) => assert_said("features", &refusal.to_string()),
    }
}
