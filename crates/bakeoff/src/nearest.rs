//! Published option sets that a contender's kernel no longer accepts: they run in their nearest supported form, under a name that shows this.
//! In: the contenders of a plan, the published sets, and the obsolete options in filesystems' files. Out: contenders, and a note on each
//! that differs. A user's own sets and options typed on the command line stay unchanged.

use crate::catalogue::Catalogue;
use crate::failure::Failure;
use indexmap::IndexMap;
use records::Nearest;
use workload::Contender;
use workload::plan::Plan;

/// Replaces each published option set that its kernel does not accept by its nearest form. Returns a sentence for each form, with its contenders.
///
/// # Errors
/// The filesystem of a contender is unknown.
pub fn forms(contenders: &mut [Contender], plan: &Plan, catalogue: &Catalogue) -> Result<Vec<String>, Failure> {
    let mut lines: IndexMap<String, Vec<String>> = IndexMap::new();
    for contender in contenders {
        let own = plan.contenders.contains_key(&contender.base);
        let Some(set) = catalogue.work.published(&contender.base).filter(|_| !own) else { continue };
        let filesystem = catalogue.filesystems.get(&contender.filesystem)?;
        let Some(release) = staging::kernel_release(contender.kernel.as_deref()) else { continue };
        let Some(near) = staging::nearest(filesystem, set, contender, &release) else { continue };
        let form = near.nearest.as_ref().map(Nearest::in_full).unwrap_or_default();
        let text = format!("the nearest supported form of {form}. {}", as_it_was(filesystem, set));
        lines.entry(text).or_default().push(near.label.clone());
        *contender = near;
    }
    Ok(lines.into_iter().map(|(text, labels)| format!("{}: {text}", labels.join(", "))).collect())
}

/// A sentence on which of Debian's kernels accept a set as published.
fn as_it_was(filesystem: &staging::Filesystem, set: &Contender) -> String {
    let kernels = staging::kernels_known();
    let takes = |kernel: &&String| {
        let release = staging::kernel_release(Some(kernel.as_str()));
        release.is_some_and(|release| staging::nearest(filesystem, set, set, &release).is_none())
    };
    match (kernels.iter().rev().find(takes), kernels.first()) {
        (Some(newest), _) => format!("--kernel {newest} accepts the original form."),
        (None, Some(oldest)) => format!("No known kernel accepts the original form (the oldest is {oldest})."),
        (None, None) => "No other kernel is known here.".into(),
    }
}
