//! Notes in few words, shown next to their figure.
//! In: the facts of a cell. Out: [`Note`]s.
//! A note states a fact without an opinion.

use crate::judgement::{Note, NoteKind};
use crate::table::{Cell, Durability};

/// Share of a cold read that caches may serve before there is a note.
const CACHE_NOTED: f64 = 0.05;
/// Share of a warm read that the device may deliver before there is a note.
const DEVICE_SHARE: f64 = 0.05;
/// Within 20 % of the generator's ceiling.
const CEILING_NOTED: f64 = 0.8;

/// A note.
pub fn note(kind: NoteKind, text: impl Into<String>) -> Note {
    Note { kind, text: text.into() }
}

/// "sample" or "samples".
pub fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.into() } else { format!("{word}s") }
}

/// Notes from the facts of a cell.
pub fn of_facts(cell: &Cell, missing: usize) -> Vec<Note> {
    let mut found = Vec::new();
    let facts = &cell.facts;
    let disturbed = cell.disturbed();
    if disturbed > 0 {
        found.push(note(NoteKind::Disturbed, format!("{disturbed} of {} disturbed", cell.samples.len())));
    }
    if let Some(share) = facts.cache_served.filter(|share| *share > CACHE_NOTED) {
        found.push(note(NoteKind::Cache, format!("{:.0} % from a cache", share * 100.0)));
    }
    if let Some(share) = facts.device_served.filter(|share| *share > DEVICE_SHARE) {
        let text = format!("not warm: {:.0} % of the bytes came from the device", share * 100.0);
        found.push(note(NoteKind::NotWarm, text));
    }
    if facts.not_cold {
        found.push(note(NoteKind::Cache, "warm: caches could not be dropped"));
    }
    if facts.cache_below {
        found.push(note(NoteKind::Cache, "a cache below this machine"));
    }
    if let Some(share) = facts.ceiling.filter(|share| *share > CEILING_NOTED) {
        found.push(note(NoteKind::Ceiling, format!("limited by the generator ({:.0} % of it)", share * 100.0)));
    }
    if missing > 0 {
        found.push(note(NoteKind::Missing, format!("{missing} {} missing", plural(missing, "value"))));
    }
    if facts.failures > 0 {
        let count = facts.failures as usize;
        let why = facts.failure.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        found.push(note(NoteKind::Missing, format!("{count} failed {}{why}", plural(count, "trial"))));
    }
    found.extend(facts.remarks.iter().map(|remark| note(NoteKind::Remark, remark.clone())));
    found
}

/// The durability of a contender, in words: "no flushes, ordered, checksums".
pub fn durability_words(durability: &Durability) -> String {
    let facts = [
        (durability.flushes, "flushes", "no flushes"),
        (durability.ordered, "data ordered", "data not ordered"),
        (durability.checksums, "data checksummed", "no data checksums"),
        (durability.copy_on_write, "copy on write", "written in place"),
    ];
    let words: Vec<&str> =
        facts.iter().filter_map(|(known, yes, no)| known.map(|is| if is { *yes } else { *no })).collect();
    if words.is_empty() { "not known".into() } else { words.join(", ") }
}

impl Durability {
    /// Whether two contenders differ in a property that is known of both.
    pub fn differs(&self, other: &Durability) -> bool {
        !self.missing_against(other).is_empty() || !other.missing_against(self).is_empty()
    }

    /// What the other does for the safety of data and this one does not.
    pub fn missing_against(&self, other: &Durability) -> Vec<&'static str> {
        let pairs = [
            (self.flushes, other.flushes, "flushes"),
            (self.ordered, other.ordered, "ordered data"),
            (self.checksums, other.checksums, "data checksums"),
            (self.copy_on_write, other.copy_on_write, "copy on write"),
        ];
        pairs.iter().filter(|(mine, theirs, _)| *mine == Some(false) && *theirs == Some(true)).map(|p| p.2).collect()
    }

    /// The class in words: "flushes, data ordered, no data checksums, written in place".
    pub fn words(&self) -> String {
        durability_words(self)
    }
}
