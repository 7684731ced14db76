//! Names of the parts of a view elsewhere: of workloads in trials, and of all parts in addresses.
//! In: records, and parts of a view. Out: trials, names.

use super::{Material, WorkloadView};
use records::TrialRecord;
use std::collections::HashSet;

/// The name of a workload of the view in trials.
pub(crate) fn trial_name<'a>(material: &'a Material, workload: &'a WorkloadView) -> &'a str {
    let works = &material.run.new.works;
    let found =
        works.iter().find(|work| work.scale == workload.scale && samples::work_name(works, work) == workload.name);
    found.map_or(workload.name.as_str(), |work| work.name.as_str())
}

/// The trials of a workload (by name and scale as in trials) and of a contender (by index), as far as they give samples.
pub(super) fn counted_trials<'a>(
    material: &'a Material,
    (name, scale): (&'a str, &'a str),
    contender: usize,
) -> impl Iterator<Item = &'a TrialRecord> {
    let counting = material.counting();
    material.trials.iter().enumerate().filter_map(move |(number, trial)| {
        let mine = trial.contender as usize == contender && trial.workload == name && trial.scale == scale;
        (mine && counting.contains(&number)).then_some(trial)
    })
}

/// Lower case letters, digits and dashes.
pub(crate) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars().take(60) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "unnamed".into() } else { slug.to_owned() }
}

/// The same, or with a number if it is taken.
pub(super) fn unique(slug: String, taken: &mut HashSet<String>) -> String {
    let mut candidate = slug.clone();
    let mut number = 2;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{slug}-{number}");
        number += 1;
    }
    candidate
}
