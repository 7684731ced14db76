//! Scaling: the same work with one number varied, such as the number of processes.
//! In: the workloads of a view. Out: a [`ScalingView`] for each workload that was planned with several values of a number.

use super::WorkloadView;
use crate::number;
use serde::Serialize;

/// One workload over the values of one of its options.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScalingView {
    /// Part of file names and links.
    pub slug: String,
    /// Heading of the workload.
    pub title: String,
    /// The option: `processes`.
    pub setting: String,
    /// Its values, from the smallest.
    pub values: Vec<String>,
    /// The operations that all of these workloads have.
    pub rows: Vec<ScalingRow>,
    /// Scaling efficiency at the largest number, if the number counts parallel workers: a sentence for each operation and contender.
    pub sentences: Vec<String>,
}

/// One operation over the values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScalingRow {
    /// Label of the operation.
    pub title: String,
    /// For each value the workload and the row within it, as indices into the view.
    pub places: Vec<(usize, usize)>,
}

/// Finds them; `names` holds the name of each workload in trials.
pub(super) fn scalings(workloads: &[WorkloadView], names: &[&str], contenders: &[&str]) -> Vec<ScalingView> {
    let mut found: Vec<ScalingView> = Vec::new();
    let mut known: Vec<(String, String)> = Vec::new();
    for (at, workload) in workloads.iter().enumerate() {
        for (setting, _) in &workload.settings {
            let mut members: Vec<(f64, usize)> = (0..workloads.len())
                .filter(|other| {
                    names[*other] == names[at] && others(&workloads[*other], setting) == others(workload, setting)
                })
                .filter_map(|other| Some((number::quantity(value(&workloads[other], setting)?)?, other)))
                .collect();
            members.sort_by(|a, b| a.0.total_cmp(&b.0));
            members.dedup_by(|a, b| a.0 == b.0);
            let key = (setting.clone(), format!("{members:?}"));
            if members.len() < 2 || known.contains(&key) {
                continue;
            }
            known.push(key);
            let members: Vec<usize> = members.into_iter().map(|(_, member)| member).collect();
            found.extend(
                scaling(workloads, names[at], setting, &members)
                    .map(|scaling| ScalingView { sentences: sentences(workloads, &scaling, contenders), ..scaling }),
            );
        }
    }
    found
}

fn scaling(workloads: &[WorkloadView], name: &str, setting: &str, members: &[usize]) -> Option<ScalingView> {
    let first = &workloads[*members.first()?];
    let rows: Vec<ScalingRow> = first
        .rows
        .iter()
        .filter_map(|row| {
            let place = |member: &usize| {
                let at = workloads[*member].rows.iter().position(|other| other.key == row.key)?;
                Some((*member, at))
            };
            let places: Option<Vec<(usize, usize)>> = members.iter().map(place).collect();
            Some(ScalingRow { title: row.title.clone(), places: places? })
        })
        .collect();
    let values = members.iter().filter_map(|member| value(&workloads[*member], setting).map(str::to_owned)).collect();
    let slug = super::known::slug(&format!("{name} by {setting}"));
    let title = first.title.split(" (").next().unwrap_or(&first.title).to_owned();
    (!rows.is_empty()).then(|| ScalingView {
        slug,
        title,
        setting: setting.to_owned(),
        values,
        rows,
        sentences: Vec::new(),
    })
}

/// Settings that count parallel workers, so that twice the number could do twice the work.
const SIDE_BY_SIDE: [&str; 5] = ["clients", "processes", "workers", "threads", "jobs"];

/// The speedup at the largest number over the smallest, also as a share of linear.
fn sentences(workloads: &[WorkloadView], scaling: &ScalingView, contenders: &[&str]) -> Vec<String> {
    let (Some(least), Some(most)) = (scaling.values.first(), scaling.values.last()) else { return Vec::new() };
    let (Some(few), Some(many)) = (number::quantity(least), number::quantity(most)) else { return Vec::new() };
    if !SIDE_BY_SIDE.contains(&scaling.setting.as_str()) || few <= 0.0 {
        return Vec::new();
    }
    let shown = |row: &ScalingRow, contender: usize| {
        let median = |place: Option<&(usize, usize)>| {
            let row = &workloads[place?.0].rows[place?.1];
            row.cells.get(contender)?.figure.filter(|_| row.higher_is_better).map(|figure| figure.median)
        };
        let (from, to) = (median(row.places.first())?, median(row.places.last())?);
        let times = (from > 0.0).then(|| to / from)?;
        let share = number::percent(times / (many / few));
        let times = number::ratio(times);
        let setting = &scaling.setting;
        Some(format!(
            "{}, {}: {most} {setting} do {times} times as much as {least}, {share} of linear scaling.",
            contenders[contender], row.title
        ))
    };
    let each = scaling.rows.iter().flat_map(|row| (0..contenders.len()).map(move |contender| (row, contender)));
    each.filter_map(|(row, contender)| shown(row, contender)).collect()
}

fn value<'a>(workload: &'a WorkloadView, setting: &str) -> Option<&'a str> {
    workload.settings.iter().find(|(name, _)| name == setting).map(|(_, value)| value.as_str())
}

fn others<'a>(workload: &'a WorkloadView, setting: &str) -> Vec<&'a (String, String)> {
    workload.settings.iter().filter(|(name, _)| name != setting).collect()
}
