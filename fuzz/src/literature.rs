//! What others have published: claims, figures, sources, features.
//! In: bytes of a CSV file. Out: nothing; numbers that were read are numbers.

use crate::assert_said;
use ::literature::{CLAIMS_LIMIT, claims, features, figures, range, sources};

const FILE: &str = "fuzzed.csv";

/// One text, read in all four forms: their headings tell them apart.
pub fn all(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match claims(&text, FILE) {
        Ok(claims) => {
            assert!((1..=CLAIMS_LIMIT).contains(&claims.len()));
            let factors = claims.iter().filter_map(|claim| claim.claim.factor);
            factors.for_each(|factor| assert!(factor.is_finite() && factor > 0.0));
        }
        Err(refusal) => assert_said("claims", &refusal.to_string()),
    }
    match figures(&text, FILE) {
        Ok(figures) => assert!(figures.iter().all(|figure| figure.value.is_finite())),
        Err(refusal) => assert_said("figures", &refusal.to_string()),
    }
    if let Err(refusal) = sources(&text, FILE) {
        assert_said("sources", &refusal.to_string());
    }
    match features(&text, FILE) {
        Ok(read) => {
            let answers = read.features.iter().flat_map(|feature| &feature.answers);
            for (low, high) in answers.filter_map(|answer| range(answer)) {
                assert!(low >= 0.0 && high >= 0.0, "{low} to {high}");
            }
        }
        Err(refusal) => assert_said("features", &refusal.to_string()),
    }
}
