//! Latency histograms in the log format that the HdrHistogram tools read (version 1.3), one file a workload.
//! In: a run's material. Out: file names with text; histograms are those of the ledger, nothing is merged.

use crate::view::{self, Material, View};
use records::TrialRecord;

/// One log for each workload that has histograms.
pub(super) fn logs(material: &Material, view: &View) -> Vec<(String, String)> {
    let mut logs = Vec::new();
    for workload in &view.workloads {
        let name = view::trial_name(material, workload);
        let trials = material.trials.iter().enumerate();
        let of_workload = trials.filter(|(_, trial)| trial.workload == name && trial.scale == workload.scale);
        let lines: String = of_workload.map(|(number, trial)| lines(material, number, trial)).collect();
        if !lines.is_empty() {
            logs.push((format!("{}.hlog", workload.slug), format!("{}{lines}", head(view, name))));
        }
    }
    logs
}

fn head(view: &View, workload: &str) -> String {
    let workload = crate::safe::terminal(workload);
    format!(
        "#[Logged with Bakeoff {}; run {}, workload {workload}; nanoseconds]\n#[Histogram log format version 1.3]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        crate::safe::terminal(&view.run.version),
        crate::safe::terminal(&view.run.id),
    )
}

fn lines(material: &Material, number: usize, trial: &TrialRecord) -> String {
    let contender = material.contenders.iter().find(|record| record.index == trial.contender);
    let contender = contender.map(|record| record.label.as_str()).unwrap_or_default();
    let began = trial.began_ms as f64 / 1e3;
    let mut text = String::new();
    for phase in &trial.phases {
        let seconds = phase.outcome.returned_ns as f64 / 1e9;
        for group in &phase.outcome.groups {
            for (step, histogram) in &group.latency {
                // Text that other tools could not read as a histogram is left out.
                if view::read_histogram(&histogram.hdr).is_none() {
                    continue;
                }
                let place = format!(
                    "trial{number}/{contender}/{}/pass{}/{}/{step}",
                    phase.name, phase.outcome.pass, group.name
                );
                let max = histogram.max_ns as f64 / 1e6;
                text.push_str(&format!("Tag={},{began:.3},{seconds:.6},{max:.6},{}\n", tag(&place), histogram.hdr));
            }
        }
    }
    text
}

/// Tags hold no comma, space or line end.
fn tag(text: &str) -> String {
    let plain =
        |letter: char| if letter.is_whitespace() || letter.is_control() || letter == ',' { '_' } else { letter };
    text.chars().map(plain).collect()
}
