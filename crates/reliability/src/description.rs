//! Compares results with the durability in a filesystem's description: one of them is wrong where they differ.
//! In: the class that the description gives a mount, and the results. Out: sentences.

use crate::faults::{FaultResult, Verdict};
use crate::power_cut::{Given, PromiseResult, Strength, Survived};
use records::{DataMode, Durability, Found, Journaling};

/// The driver of a mount whose filesystem has another name: the ext4 driver mounts ext2 and ext3 (CONFIG_EXT4_USE_FOR_EXT2), and shows the
/// options of such a mount in its own folder, `/proc/fs/ext4`, which a driver of ext2 alone does not. None: the driver of that name, as far
/// as is known.
pub fn driver(found: &Found) -> Option<&'static str> {
    let other_name = ["ext2", "ext3"].contains(&found.filesystem.as_str());
    (other_name && !found.more_options.is_empty()).then_some("ext4")
}

/// A contender's label for output, with the driver if it is another filesystem's.
pub(crate) fn with_driver(label: &str, driver: Option<&String>) -> String {
    driver.map_or_else(|| label.into(), |name| format!("{label} ({name} driver)"))
}

/// Contradictions with power cuts. A lying disk is not the filesystem's fault, and a program's loss is no evidence about the filesystem.
pub(crate) fn against_cuts(class: &Durability, survived: &Survived) -> Vec<String> {
    if survived.lying || survived.program.is_some() {
        return Vec::new();
    }
    let is_tested = |one: &PromiseResult| one.strength == Strength::Promised && one.given != Given::Untested;
    if !survived.promises.iter().any(is_tested) {
        return Vec::new();
    }
    contradicts(class, survived.broken(Strength::Promised).next().is_some(), survived.foreign_bytes)
}

/// The same for a summary: whether anything promised was broken, and how much foreign content appeared.
pub(crate) fn contradicts(class: &Durability, broken: bool, foreign_bytes: u64) -> Vec<String> {
    let safe = matches!(class.journal, Journaling::Metadata | Journaling::Data | Journaling::Trees);
    let mut lines = Vec::new();
    if class.flushes == Some(true) && safe && broken {
        lines.push(
            "its description states that fsync flushes the disk and that metadata is safe, but guarantees were broken"
                .into(),
        );
    }
    if class.flushes == Some(false) && !broken {
        lines.push("its description states that fsync flushes nothing, but all guarantees held".into());
    }
    // Without flushes a disk keeps no order, whatever the filesystem does.
    let in_order = matches!(class.data, DataMode::Ordered | DataMode::Atomic) && class.flushes != Some(false);
    if in_order && foreign_bytes > 0 {
        lines.push(
            "its description states that data is written before its metadata, but files contained foreign data".into(),
        );
    }
    lines
}

/// Contradictions with faults.
pub(crate) fn against_faults(class: &Durability, faults: &[FaultResult]) -> Vec<String> {
    let of = |name: &str| faults.iter().find(|fault| fault.name == name && fault.blocks > 0);
    let silent = |fault: &FaultResult| fault.verdict == Verdict::Silent;
    let mut lines = Vec::new();
    match (class.checksums_data, of("bit-flips").map(silent)) {
        (Some(true), Some(true)) => {
            lines.push("its description states that data has checksums, but reads returned wrong data".into());
        }
        (Some(false), Some(false)) => {
            lines.push("its description states that data has no checksums, but no read returned wrong data".into());
        }
        _ => {}
    }
    if class.checksums_metadata == Some(true) && of("bit-flips-metadata").is_some_and(silent) {
        lines
            .push("its description states that metadata has checksums, but a flipped bit in it gave wrong data".into());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Counts;
    use crate::faults::{Round, known, of_rounds};

    fn flips(wrong: u32) -> Vec<FaultResult> {
        let read = Counts { right: 10, wrong, ..Counts::default() };
        let round = Round { blocks: 64, read, ..Round::default() };
        vec![of_rounds(known("bit-flips").expect("known"), vec![round])]
    }

    #[test]
    fn ext2_that_the_ext4_driver_mounted_is_known_by_the_options_that_it_shows() {
        let found = |filesystem: &str, options: &[&str]| Found {
            filesystem: filesystem.into(),
            more_options: options.iter().map(|option| option.to_string()).collect(),
            ..Found::nothing()
        };
        assert_eq!(driver(&found("ext2", &["rw", "nodelalloc"])), Some("ext4"));
        assert_eq!(driver(&found("ext3", &["rw", "data=ordered"])), Some("ext4"));
        assert_eq!(driver(&found("ext2", &[])), None);
        assert_eq!(driver(&found("ext4", &["rw"])), None);
    }

    #[test]
    fn a_description_that_differs_from_the_finding_is_contradicted() {
        let class = |checksums| Durability { checksums_data: checksums, ..Durability::unknown() };
        assert_eq!(against_faults(&class(Some(true)), &flips(3)).len(), 1);
        assert_eq!(against_faults(&class(Some(false)), &flips(0)).len(), 1);
        for (checksums, wrong) in [(Some(true), 0), (Some(false), 3), (None, 0), (None, 3)] {
            assert_eq!(against_faults(&class(checksums), &flips(wrong)), Vec::<String>::new());
        }
    }
}
