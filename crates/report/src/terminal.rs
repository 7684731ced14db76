//! Tables and verdicts for the terminal: readable without colour, folded to its width.
//! In: a [`View`] and a [`Style`]. Out: text that ends with a line end.

mod answer;
mod cell;
mod clients;
mod costs;
mod features;
mod grid;
mod machines;
mod pivot;
mod style;
mod table;
mod why;

pub use answer::answer;
pub use features::feature_table;
pub use pivot::pivot;
pub use style::Style;
pub(crate) use style::{left, right};
pub use why::why;

use crate::number;
use crate::safe;
use crate::view::{FailureView, View, WorkloadView, plural};
use judge::duration;
use style::Tone;
use unicode_width::UnicodeWidthStr;

/// Everything about a run: one table and verdict per workload, then the evidence.
pub fn show(view: &View, style: Style) -> String {
    let mut text = String::new();
    line(&mut text, &style.paint(Tone::Heading, &safe::terminal(&view.run.title)));
    let counts = view.counts;
    let seconds = view.run.seconds.map(|seconds| format!(", {}", duration(seconds))).unwrap_or_default();
    let (trials, blocks) = (plural(counts.done, "trial"), plural(counts.blocks as usize, "round"));
    let (id, began) = (&view.run.id, &view.run.began);
    text.push_str(&style.say(&format!("Run {id} of {began}: {trials} in {blocks}{seconds}."), ""));
    for workload in &view.workloads {
        line(&mut text, "");
        text.push_str(&section(view, workload, style));
    }
    text.push_str(&clients::scalings(view, style));
    text.push_str(&clients::clients(view, style));
    let scores = clients::scores(view, style);
    if !scores.is_empty() {
        text.push_str(&format!("\n{scores}"));
    }
    text.push_str(&machines::machines(view, style));
    text.push_str(&costs::costs(view, style));
    text.push_str(&costs::options(view, style));
    if !view.run.features.is_empty() {
        text.push_str(&style.heading("Features of the filesystems"));
        text.push_str(&features::feature_table(&view.run.features, &|_, _| false, style.width));
    }
    text.push_str(&ending(view, style));
    line(&mut text, "");
    text.push_str(&answer::sentences(view, style));
    text
}

/// One workload: its table, notes and verdict.
pub fn section(view: &View, workload: &WorkloadView, style: Style) -> String {
    let mut text = String::new();
    let value = workload.scale.is_empty() || workload.name.contains(&workload.scale);
    let scale = if value { String::new() } else { format!(", {}", workload.scale) };
    let (title, name) = (safe::terminal(&workload.title), safe::terminal(&format!("({}{scale})", workload.name)));
    let gap = if title.width() + name.width() + 2 > style.width { "\n  " } else { "  " };
    line(&mut text, &format!("{}{gap}{name}", style.paint(Tone::Heading, &title)));
    text.push_str(&table::tables(view, workload, style));
    for sentence in &workload.sentences {
        let mark = if style.unicode { "→ " } else { "> " };
        text.push_str(&style.say(&format!("{mark}{}", sentence.text), "  "));
    }
    text
}

fn ending(view: &View, style: Style) -> String {
    let mut text = String::from("\n");
    let mut say = |what: &str, indent: &str| text.push_str(&style.say(what, indent));
    if let Some(why) = &view.run.ending {
        say(&format!("Ended: {why}"), "  ");
    }
    for row in &view.device {
        let show = |value| row.unit.show(value, None);
        let shown = format!(
            "The raw device, {}: {} {} ({} to {}, {} samples){}",
            row.title,
            show(row.median),
            row.unit.sign,
            show(row.range.0),
            show(row.range.1),
            row.samples,
            row.remarks.iter().map(|remark| format!("; {remark}")).collect::<String>()
        );
        say(&shown, "  ");
    }
    for warning in &view.warnings {
        say(&format!("{} {warning}", if style.unicode { "•" } else { "*" }), "  ");
    }
    for failure in view.failures.iter().take(8) {
        let FailureView { contender, workload, block, reason, .. } = failure;
        say(&format!("  {contender} failed in {workload}, round {}: {reason}", block + 1), "    ");
    }
    let noise = match view.noise_floor {
        Some(noise) => format!("Noise floor, from a control: {}. ", number::percent(noise)),
        None => String::new(),
    };
    let effect = number::percent(view.smallest_effect);
    say(&format!("{noise}Differences below {effect} are ignored."), "");
    if !view.run.repeat.is_empty() {
        say(&format!("Again: {}", view.run.repeat), "  ");
    }
    text
}

fn line(text: &mut String, what: &str) {
    text.push_str(what.trim_end());
    text.push('\n');
}
