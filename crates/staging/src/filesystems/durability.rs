//! The durability class of what is mounted: a filesystem's facts, changed by the words found among its options and features.
//! In: facts and rules of the filesystem's file, and the words. Out: [`Durability`].
//! It is derived from the mounted filesystem, not from the request.

use crate::filesystems::description::DurabilityFacts;
use records::Durability;
use std::collections::BTreeSet;

/// The class by a filesystem's rules and the words that were found.
pub(crate) fn class(facts: &DurabilityFacts, words: &BTreeSet<String>) -> Durability {
    let mut class = Durability {
        flushes: facts.flushes,
        data: facts.data,
        journal: facts.journal,
        checksums_data: Some(facts.checksums_data),
        checksums_metadata: Some(facts.checksums_metadata),
        copy_on_write: Some(facts.copy_on_write),
    };
    for rule in &facts.when {
        let found = rule.found.is_empty() || rule.found.iter().any(|word| words.contains(word));
        let missing = rule.missing.iter().all(|word| !words.contains(word));
        if !(found && missing) {
            continue;
        }
        class.flushes = rule.flushes.or(class.flushes);
        class.data = rule.data.unwrap_or(class.data);
        class.journal = rule.journal.unwrap_or(class.journal);
        class.checksums_data = rule.checksums_data.or(class.checksums_data);
        class.checksums_metadata = rule.checksums_metadata.or(class.checksums_metadata);
        class.copy_on_write = rule.copy_on_write.or(class.copy_on_write);
    }
    class
}
