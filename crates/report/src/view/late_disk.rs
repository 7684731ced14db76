//! Lateness of a modelled disk: a sentence for the answer if it exceeds the bound, else one with the warnings.
//! In: the passes whose figures count. Out: the sentence.

use super::Material;
use crate::number::{self, Unit};
use records::{DiskLateness, PhaseRecord};
use std::collections::HashSet;

/// A sentence about a late disk.
pub(super) enum LateDisk {
    /// Figures are partly those of this machine.
    Late(String),
    /// Within the bound.
    OnTime(String),
}

/// The lateness in the passes that count; None without a modelled disk that did any I/O.
pub(super) fn of(material: &Material, counting: &HashSet<usize>) -> Option<LateDisk> {
    let counted = material.trials.iter().enumerate().filter(|(number, _)| counting.contains(number));
    let passes = counted.flat_map(|(_, trial)| trial.phases.iter().map(move |phase| (trial.contender, phase)));
    let passes: Vec<(u32, &PhaseRecord, DiskLateness)> = passes
        .filter(|(_, phase)| !phase.preparation && phase.counts())
        .filter_map(|(contender, phase)| Some((contender, phase, phase.evidence.disk_late?)))
        .collect();
    let all = passes.len();
    let late = passes.iter().filter(|(_, _, late)| late.is_late()).count();
    let too_fast = passes.iter().any(|(_, _, late)| late.is_too_fast());
    let (contender, phase, most) = passes.into_iter().max_by(|one, other| one.2.share.total_cmp(&other.2.share))?;
    let label = material.contenders.iter().find(|record| record.index == contender).map(|record| record.label.as_str());
    let worst = worst(label.unwrap_or_default(), &phase.name, &most);
    Some(match late {
        0 => LateDisk::OnTime(format!("The modelled disk kept up: it was late {worst} at most.")),
        _ => {
            let why = if too_fast { " The disk is too fast to be modelled on this machine." } else { "" };
            LateDisk::Late(format!(
                "The modelled disk was late in {late} of {all} passes, at most {worst}: their figures partly reflect this machine, not the disk.{why}"
            ))
        }
    })
}

fn worst(label: &str, phase: &str, late: &DiskLateness) -> String {
    let median = Unit::of_nanoseconds(late.median_ns as f64);
    let share = number::percent(late.share);
    format!("by {share} of its own time, and by {median} at the median, in `{phase}` of {label}")
}
