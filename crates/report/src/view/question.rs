//! The question of a run with one filesystem: whether an option is worth it, from which level on it gets worse, or how fast it is.
//! In: a view and the judge's answer for its contenders. Out: the headline, and the contender it takes.
//! Runs that choose among filesystems are answered by [`super::answer`].

use super::axes::FILESYSTEM;
use super::{AxisView, CellView, RowView, Standing, View};
use crate::number;
use judge::GroupAnswer;

/// Most figures of a single contender.
const FIGURES: usize = 3;
/// Most stacks of layers in a headline.
pub(super) const LAYERS: usize = 3;
/// A share below which a choice among options is not worth the effort.
const TRIFLE: f64 = 0.10;

/// The headline of such a run.
pub(super) struct Asked {
    pub text: String,
    /// An index into [`View::contenders`] and how many times slower than the best it is at most; absent where none is taken.
    pub take: Option<(usize, f64)>,
}

impl Asked {
    fn plain(text: String) -> Asked {
        Asked { text, take: None }
    }
}

/// None where several filesystems, or several options at once, are compared.
pub(super) fn headline(view: &View, group: &GroupAnswer) -> Option<Asked> {
    if view.workloads.is_empty() {
        return super::device::headline(view).map(Asked::plain);
    }
    if let Some(asked) = of_layers(view) {
        return Some(asked);
    }
    if let Some(axis) = only_axis(view) {
        return of_axis(view, axis, group);
    }
    // The raw device is no contender of the view.
    let mut own = (0..view.contenders.len()).filter(|&place| group.order.contains(&view.contenders[place].index));
    let (Some(own), None) = (own.next(), own.next()) else { return None };
    let variants = view.variants.iter().find_map(|one| one.course.clone().or_else(|| one.take.clone()));
    variants.or_else(|| figures(view, own)).map(Asked::plain)
}

/// The only axis on which the participating contenders differ: an index into [`View::axes`].
fn only_axis(view: &View) -> Option<usize> {
    let count = view.contenders.iter().filter(|contender| contender.error.is_none()).count();
    let holds_all = |axis: &AxisView| axis.groups.iter().any(|group| group.members.iter().flatten().count() == count);
    let mut varied = view.axes.iter().enumerate().filter(|(_, axis)| axis.name != FILESYSTEM);
    match (varied.next(), varied.next()) {
        (Some((at, axis)), None) if count > 1 && holds_all(axis) => Some(at),
        _ => None,
    }
}

/// "luks costs ext4 1.1x, xfs 1.3x": layers are not chosen for speed, so the question is what they cost, and which filesystem loses least. None
/// unless they are all that is varied beside the filesystem.
fn of_layers(view: &View) -> Option<Asked> {
    let mut varied = view.axes.iter().enumerate().filter(|(_, axis)| axis.name != FILESYSTEM);
    let (Some((at, axis)), None) = (varied.next(), varied.next()) else { return None };
    let pivot = view.pivots.iter().find(|pivot| pivot.axis == at).filter(|_| axis.name == axes::STACK)?;
    let costs = super::pivot::costs(view, pivot);
    (!costs.is_empty()).then(|| Asked::plain(costs.into_iter().take(LAYERS).collect::<Vec<_>>().join(" ")))
}

fn of_axis(view: &View, at: usize, group: &GroupAnswer) -> Option<Asked> {
    let axis = &view.axes[at];
    let pivot = view.pivots.iter().find(|pivot| pivot.axis == at)?;
    match &pivot.course {
        // A newer kernel can be chosen; age and fill result from use.
        Some(course) if axis.name != "kernel" => {
            let name = &axis.groups.first()?.name;
            Some(Asked::plain(format!("{name}: {}", super::story::lower(&course.summary))))
        }
        Some(_) => None,
        None => worth(view, axis, group),
    }
}

/// "mount.noatime: no difference above 2 % over all steps; leave the default": if no value is shown to be worse over whole workloads.
/// Values that keep data less safely are no choice if they are not shown to be faster.
fn worth(view: &View, axis: &AxisView, group: &GroupAnswer) -> Option<Asked> {
    if group.less_safe.iter().any(|one| one.operation.is_some()) || !group.cannot.is_empty() {
        return None;
    }
    let members = axis.groups.iter().find(|group| group.members.iter().flatten().count() > 1)?.members.clone();
    // For a workload with a sum only that, since it covers all of its work; else each step.
    let of_work = |rows: &'_ [RowView]| rows.iter().any(|row| view.is_sum(row));
    let summed = view.workloads.iter().any(|workload| of_work(&workload.rows));
    let whole = view.workloads.iter().flat_map(|workload| {
        let has_sum = of_work(&workload.rows);
        workload.rows.iter().filter(move |row| !has_sum || view.is_sum(row))
    });
    let cells: Vec<&CellView> =
        whole.flat_map(|row| members.iter().flatten().map(|&place| &row.cells[place])).collect();
    if cells.iter().any(|cell| matches!(cell.standing, Standing::Best | Standing::Worse | Standing::Likely)) {
        return None;
    }
    let bound = |cell: &&CellView| match (cell.ratio?, cell.ratio_interval) {
        (_, Some((_, high))) => Some(high),
        (ratio, None) => (ratio <= 1.0).then_some(1.0),
    };
    let most = cells.iter().map(bound).collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)?;
    let less_safe = |place: usize| group.less_safe.iter().find(|one| one.contender == view.contenders[place].index);
    let is_safe = |value: &usize| members[*value].is_some_and(|place| less_safe(place).is_none());
    let usual = axes::usual(&axis.name);
    let is_default = |value: &usize| axis.values[*value] == usual || axis.values[*value] == "off";
    let default = (0..members.len()).find(|value| is_default(value) && is_safe(value));
    let kept = default.or_else(|| (0..members.len()).find(is_safe))?;
    let (keep, name) = (members[kept]?, &axis.values[kept]);
    let leave = match default {
        Some(_) if name == "default" => "leave the default".to_owned(),
        Some(_) => format!("leave the default ({name})"),
        None => format!("leave {name}"),
    };
    let over = if summed { " over all steps" } else { "" };
    if let Some(weaker) = group.less_safe.first() {
        let (name, at_most) = (&view.table.contenders[weaker.contender].name, number::times(most));
        let loss = super::answer::loss(weaker.class);
        let text =
            format!("{}: {name} is not shown to be faster (at most {at_most}x{over}), and {loss}; {leave}.", axis.name);
        return Some(Asked { text, take: Some((keep, most)) });
    }
    let text = match most - 1.0 {
        small if small < TRIFLE => {
            format!("{}: no difference above {}{over}; {leave}.", axis.name, number::percent(small.max(0.01)))
        }
        _ => format!("{}: no difference shown (at most {}x{over}); so far, {leave}.", axis.name, number::times(most)),
    };
    Some(Asked { text, take: Some((keep, most)) })
}

/// "ext4: create 22 k/s, read in order 33 k/s": sums of whole workloads first.
fn figures(view: &View, own: usize) -> Option<String> {
    let rows = || view.workloads.iter().flat_map(|workload| &workload.rows);
    let ordered = rows().filter(|row| view.is_sum(row)).chain(rows().filter(|row| !view.is_sum(row)));
    let all: Vec<String> = ordered
        .filter_map(|row| {
            let figure = row.cells[own].figure.as_ref()?;
            Some(format!("{} {} {}", row.title, row.show(figure), row.unit.sign).trim_end().to_owned())
        })
        .collect();
    let more = all.len().saturating_sub(FIGURES);
    let more = if more > 0 { format!(" and {}", super::plural(more, "more figure")) } else { String::new() };
    let shown = all.iter().take(FIGURES).cloned().collect::<Vec<_>>().join(", ");
    let name = &view.contenders[own].name;
    // Results of another program cannot be repeated with other contenders; others that failed were named.
    let is_asked_alone = view.run.origin.is_none() && view.contenders.iter().all(|one| one.error.is_none());
    let hint = if is_asked_alone { " To compare, name others with --fs, --axis or --set." } else { "" };
    (!all.is_empty()).then(|| format!("{name} alone: {shown}{more}.{hint}"))
}
