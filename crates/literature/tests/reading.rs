//! All data published with this project can be read, and invalid lines are refused with their number.

#[path = "../../../tests/mutate.rs"]
mod mutate;

use literature::{Clock, TEXT_LIMIT, claims, features, figures, range, sources};
use std::path::Path;

const CLAIMS: &str = include_str!("../../../published/claims.csv");
const FEATURES: &str = include_str!("../../../published/features.csv");
const RESULTS: &str = include_str!("../../../published/results.csv");
const SOURCES: &str = include_str!("../../../published/sources.csv");

#[test]
fn the_published_claims_are_all_understood() {
    let claims = claims(CLAIMS, "published/claims.csv").expect("they parse");
    assert!(claims.len() >= 40, "{}", claims.len());
    assert!(claims.iter().any(|claim| claim.claim.factor.is_none()), "a missing factor stays missing");
    let clock = |id: &str| claims.iter().find(|claim| claim.claim.id == id).expect("a claim").clock;
    assert_eq!(clock("smallfiles-create-ext4-xfs"), Clock::Returned);
    assert_eq!(clock("ssd-seqcreate-ext4-btrfs"), Clock::Durable, "Bonnie++ 2.00 syncs on close");
    assert_eq!(clock("bonnie-seqcreate-btrfs-xfs"), Clock::Returned, "Bonnie++ 1.03 does not");
    assert_eq!(clock("mail-xfs-btrfs"), Clock::Durable, "a theory has no clock");
}

#[test]
fn figures_sources_and_features_are_understood() {
    assert!(figures(RESULTS, "results.csv").expect("they parse").len() > 200);
    assert!(sources(SOURCES, "sources.csv").expect("they parse").len() >= 4);
    let features = features(FEATURES, "features.csv").expect("they parse");
    assert!(features.filesystems.contains(&"ext4".to_owned()) && features.features.len() >= 6);
    assert_eq!(range("16 GB to 16 TB (depends on block size)"), Some((17_179_869_184.0, 17_592_186_044_416.0)));
}

#[test]
fn a_line_with_an_unknown_relation_is_named() {
    let text = CLAIMS.replacen(",faster,", ",quicker,", 1);
    let error = claims(&text, "mine.csv").expect_err("refused").to_string();
    assert!(error.contains("claim 1") && error.contains("quicker"), "{error}");
}

#[test]
fn numbers_that_are_none_are_refused() {
    for number in ["NaN", "inf", "-3", "0", "1e999"] {
        let text = CLAIMS.replacen(",23.9,", &format!(",{number},"), 1);
        assert!(claims(&text, "mine.csv").expect_err("refused").to_string().contains("claim 1"), "{number}");
        assert_eq!(range(&format!("{number} GB")).is_some(), number == "0");
    }
    let text = RESULTS.replacen(",53,", ",NaN,", 1);
    assert!(figures(&text, "mine.csv").expect_err("refused").to_string().contains("figure 1"));
}

#[test]
fn a_field_as_long_as_a_book_is_refused_and_not_repeated_whole() {
    let text = CLAIMS.replacen(",faster,", &format!(",{},", "f".repeat(1 << 20)), 1);
    assert!(claims(&text, "mine.csv").expect_err("refused").to_string().len() < 400);
    let error = claims(&" ".repeat(TEXT_LIMIT + 1), "mine.csv").expect_err("refused").to_string();
    assert!(error.contains("the limit is"), "{error}");
}

#[test]
fn texts_with_parts_changed_are_read_or_refused() {
    let samples = [CLAIMS, FEATURES, RESULTS, SOURCES].map(|text| text.as_bytes().to_vec());
    mutate::fuzz("literature", &samples, 400, Path::new(env!("CARGO_TARGET_TMPDIR")), |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for claim in claims(&text, "changed.csv").into_iter().flatten() {
            assert!(claim.claim.factor.is_none_or(|factor| factor.is_finite() && factor > 0.0));
        }
        drop((figures(&text, "changed.csv"), sources(&text, "changed.csv"), features(&text, "changed.csv")));
    });
}
