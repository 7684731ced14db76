//! Summaries of power cuts: the shipped table, and results of this machine.
//! In: results of power cuts. Out: rows, and the most informative row for a contender.

use crate::power_cut::{Strength, Survived};
use records::Durability;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The shipped table, made by `scripts/power-cuts`.
const SHIPPED: &str = include_str!("../measured/power-cuts.json");
/// Version of its format.
const FORMAT: u32 = 1;
/// Most bytes of a table.
const LIMIT: u64 = 4 << 20;
/// Results with fewer states are not kept: then up to 1.8 % of such cuts may break something that was never seen broken.
const FEWEST_STATES: u32 = 200;
/// Most rows in a table: the newest.
const MOST_ROWS: usize = 1000;

/// A contender's summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Its label at that time.
    pub contender: String,
    /// Name of its filesystem's description.
    pub filesystem: String,
    /// Its durability as mounted, by its description: others of the same class count as equal.
    pub class: Durability,
    /// Kernel during the cuts.
    pub kernel: String,
    /// The date, as 2026-11-23.
    pub date: String,
    /// Inspected states.
    pub states: u32,
    /// Promised guarantees that were broken: the share of the cuts that tested them.
    pub broken: BTreeMap<String, f64>,
    /// States that could not be mounted, or crashed the kernel that mounted them.
    pub unmountable: u32,
    /// Of these, states with a partly written block of 4,096 bytes.
    #[serde(default)]
    pub unmountable_torn: u32,
    /// Lost seconds of unsynced work, median.
    pub lost_median_seconds: Option<f64>,
    /// The same at worst.
    pub lost_worst_seconds: Option<f64>,
    /// Most bytes of foreign content in one state.
    pub foreign_bytes: u64,
    /// Whether it was measured on this machine.
    #[serde(skip)]
    pub here: bool,
}

/// A table as in a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    format: u32,
    measured: Vec<Measured>,
}

impl Measured {
    /// The row of a result; None if it is not informative: too few states, a lying disk, only torn states, a program's cuts, or an untested
    /// guarantee.
    pub fn of(survived: &Survived, date: String) -> Option<Measured> {
        let is_special = survived.lying || survived.torn || survived.program.is_some();
        if is_special || survived.states < FEWEST_STATES || !survived.tested_all() {
            return None;
        }
        let share = |count: u32, of: u32| f64::from(count) / f64::from(of.max(1));
        let broken = survived.broken(Strength::Promised);
        Some(Measured {
            contender: survived.contender.clone(),
            filesystem: survived.filesystem.clone(),
            class: survived.class.clone(),
            kernel: survived.kernel.clone(),
            date,
            states: survived.states,
            broken: broken.map(|one| (one.name.clone(), share(one.broken.count, one.broken.of))).collect(),
            unmountable: survived.mounts.refused.count + survived.mounts.kernel_lost.count,
            unmountable_torn: survived.mounts.refused_torn.count,
            lost_median_seconds: survived.lost_seconds.median,
            lost_worst_seconds: survived.lost_seconds.worst,
            foreign_bytes: survived.foreign_bytes,
            here: true,
        })
    }

    /// Whether all promised guarantees were kept in every state.
    pub fn kept_all(&self) -> bool {
        self.broken.is_empty() && self.unmountable == 0
    }

    /// The promised guarantee broken most often, and in which share of the cuts.
    pub fn worst(&self) -> Option<(&str, f64)> {
        let worst = self.broken.iter().max_by(|one, other| one.1.total_cmp(other.1));
        worst.map(|(promise, share)| (promise.as_str(), *share))
    }

    /// A summary as a sentence without an end.
    pub fn words(&self) -> String {
        let mut words = match self.worst() {
            None if self.unmountable > 0 => {
                let mounted = self.states.saturating_sub(self.unmountable);
                format!("kept all that is promised in {mounted} of {} power cuts", self.states)
            }
            None => format!("kept all that is promised in {} power cuts", self.states),
            Some((worst, share)) => {
                let names: Vec<&str> = self.broken.keys().map(String::as_str).collect();
                let percent = share * 100.0;
                let percent = if percent < 1.0 { format!("{percent:.1}") } else { format!("{percent:.0}") };
                let first = format!("broke {} in {} power cuts", judge::list(&names), self.states);
                format!("{first} ({worst} in {percent} % of those that tested it)")
            }
        };
        if self.unmountable > 0 {
            let torn = crate::power_cut::torn_in_words(self.unmountable, self.unmountable_torn);
            words.push_str(&format!(", {} states could not be mounted{torn}", self.unmountable));
        }
        if let (Some(median), Some(worst)) = (self.lost_median_seconds, self.lost_worst_seconds) {
            words.push_str(&format!("; the last {median:.0} s of unsynced work were lost, {worst:.0} s at worst"));
        }
        let place = if self.here { "here" } else { "by Bakeoff's makers" };
        format!("{words} ({}, Linux {}, {place}, {})", self.contender, self.kernel, self.date)
    }
}

/// The shipped table.
///
/// # Panics
/// It is invalid, which a test detects.
pub fn shipped() -> Vec<Measured> {
    let table: Table = serde_json::from_str(SHIPPED).expect("the shipped table can be read");
    table.measured
}

/// Results of this machine, from a file that may be missing.
///
/// # Errors
/// The file is invalid, or cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<Measured>> {
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut text = String::new();
    file.take(LIMIT).read_to_string(&mut text)?;
    let table: Table = serde_json::from_str(&text)?;
    if table.format != FORMAT {
        let other = format!("its format is {}, and {FORMAT} is known", table.format);
        return Err(io::Error::new(ErrorKind::InvalidData, other));
    }
    Ok(table.measured.into_iter().map(|one| Measured { here: true, ..one }).collect())
}

/// Adds rows to a file, in place of those of the same contender and kernel.
///
/// # Errors
/// As for [`read`], or the file cannot be written.
pub fn add(path: &Path, rows: &[Measured]) -> io::Result<()> {
    let same = |one: &Measured, other: &Measured| (&one.contender, &one.kernel) == (&other.contender, &other.kernel);
    let mut measured = read(path)?;
    measured.retain(|known| !rows.iter().any(|row| same(row, known)));
    measured.extend_from_slice(rows);
    measured.drain(..measured.len().saturating_sub(MOST_ROWS));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let text = serde_json::to_vec_pretty(&Table { format: FORMAT, measured })?;
    let beside = path.with_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)
}

/// The most informative row for a contender's filesystem and class. Preferred in this order: its own label, this machine, this kernel, more
/// states, the first row.
pub fn of<'m>(
    rows: &'m [Measured],
    (filesystem, class, label): (&str, &Durability, &str),
    kernel: &str,
) -> Option<&'m Measured> {
    let alike = rows.iter().filter(|row| row.filesystem == filesystem && row.class == *class);
    let rank = |row: &&Measured| (row.contender != label, !row.here, row.kernel != kernel, u32::MAX - row.states);
    alike.min_by_key(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::contradicts;

    fn row(contender: &str, here: bool, states: u32) -> Measured {
        Measured {
            contender: contender.into(),
            filesystem: "ext4".into(),
            class: Durability::unknown(),
            kernel: "6.18".into(),
            date: "2026-11-23".into(),
            states,
            broken: BTreeMap::new(),
            unmountable: 0,
            unmountable_torn: 0,
            lost_median_seconds: Some(19.6),
            lost_worst_seconds: Some(36.0),
            foreign_bytes: 0,
            here,
        }
    }

    #[test]
    fn shipped_results_do_not_contradict_the_descriptions() {
        let shipped = shipped();
        assert!(shipped.len() >= 15, "{} rows", shipped.len());
        for one in &shipped {
            assert!(one.states >= FEWEST_STATES, "{}", one.contender);
            let note = contradicts(&one.class, !one.broken.is_empty(), one.foreign_bytes);
            assert_eq!(note, Vec::<String>::new(), "{}", one.contender);
        }
    }

    #[test]
    fn the_own_label_comes_before_others_and_what_was_measured_here_before_what_is_shipped() {
        let class = Durability::unknown();
        let rows = [row("ext4", false, 1000), row("ext4", true, 40), row("ext4 commit=60", true, 1000)];
        let found = |label| of(&rows, ("ext4", &class, label), "6.18").map(|row| (row.contender.as_str(), row.here));
        assert_eq!(found("ext4"), Some(("ext4", true)));
        assert_eq!(found("ext4 commit=60"), Some(("ext4 commit=60", true)));
        assert_eq!(found("ext4 noatime"), Some(("ext4 commit=60", true)), "most states of those measured here");
        assert_eq!(of(&rows, ("xfs", &class, "xfs"), "6.18"), None);
        let flushes = Durability { flushes: Some(false), ..class.clone() };
        assert_eq!(of(&rows, ("ext4", &flushes, "ext4"), "6.18"), None, "of another class nothing is known");
    }

    #[test]
    fn rows_are_kept_in_a_file_one_of_a_contender_and_kernel() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/power-cuts.json");
        assert_eq!(read(&path).expect("nothing yet"), []);
        add(&path, &[row("ext4", true, 10), row("xfs", true, 10)]).expect("added");
        add(&path, &[row("ext4", true, 1000)]).expect("added");
        let known: Vec<(String, u32)> =
            read(&path).expect("read").into_iter().map(|one| (one.contender, one.states)).collect();
        assert_eq!(known, [("xfs".into(), 10), ("ext4".into(), 1000)]);
        std::fs::write(&path, "{\"format\": 9, \"measured\": []}").expect("written");
        assert!(read(&path).is_err() && add(&path, &[]).is_err(), "what is not understood is left alone");
    }

    #[test]
    fn a_row_states_that_promises_were_kept_or_the_worst_broken_one() {
        let mut one = row("ext4", false, 1000);
        assert_eq!(
            one.words(),
            "kept all that is promised in 1000 power cuts; the last 20 s of unsynced work were lost, 36 s at worst \
             (ext4, Linux 6.18, by Bakeoff's makers, 2026-11-23)"
        );
        one.unmountable = 3;
        let wanted = "kept all that is promised in 997 of 1000 power cuts, 3 states could not be mounted;";
        assert!(one.words().starts_with(wanted) && !one.kept_all(), "{}", one.words());
        one.broken = BTreeMap::from([("fsync".into(), 0.47), ("rename".into(), 0.002)]);
        assert!(one.words().starts_with("broke fsync and rename in 1000 power cuts (fsync in 47 %"), "{}", one.words());
        assert!(!one.kept_all());
    }
}
