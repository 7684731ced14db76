//! Scaling: the same work with one number varied, such as the processes that do it.
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
}

/// One operation over the values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScalingRow {
    /// Label of the operation.
    pub title: String,
    /// For each value the workload and the row within it, as indices into the view.
    pub places: Vec<(usize, usize)>,
}

/// Finds them; `names` holds for each workload the name by which trials know it.
pub(super) fn scalings(workloads: &[WorkloadView], names: &[&str]) -> Vec<ScalingView> {
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
            found.extend(scaling(workloads, names[at], setting, &members));
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
    let slug = super::build::slug(&format!("{name} by {setting}"));
    let title = first.title.split(" (").next().unwrap_or(&first.title).to_owned();
    (!rows.is_empty()).then(|| ScalingView { slug, title, setting: setting.to_owned(), values, rows })
}

fn value<'a>(workload: &'a WorkloadView, setting: &str) -> Option<&'a str> {
    workload.settings.iter().find(|(name, _)| name == setting).map(|(_, value)| value.as_str())
}

fn others<'a>(workload: &'a WorkloadView, setting: &str) -> Vec<&'a (String, String)> {
    workload.settings.iter().filter(|(name, _)| name != setting).collect()
}
