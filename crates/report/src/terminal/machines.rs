//! The machines of a run that was merged from shards, for the terminal.
//! In: a view. Out: a line for each machine, and the ratios over them; empty if all blocks are of one machine.

use super::style::{Style, left};
use crate::number;
use crate::safe;
use crate::view::{MachineView, PooledView, View, plural, span_words as span};

/// Most lines of ratios; the report has all.
const MOST: usize = 40;

pub(super) fn machines(view: &View, style: Style) -> String {
    let Some(found) = &view.machines else { return String::new() };
    let mut text = style.heading("Machines");
    text.extend(found.machines.iter().map(|machine| style.say(&one(machine), "    ")));
    text.extend(found.unlike.iter().map(|unlike| style.say(unlike, "  ")));
    if found.pooled.is_empty() {
        let why = "Too few rounds on each machine to compare contenders within it: at least three are needed.";
        return text + &style.say(why, "  ");
    }
    text.push_str(&style.heading("Times slower than the best, over all machines"));
    let mut last = String::new();
    for line in found.pooled.iter().take(MOST) {
        let title = format!("{}, {} (against {})", line.workload, line.title, line.best);
        if title != last {
            text.push_str(&style.say(&title, "  "));
            last = title;
        }
        text.push_str(&(style.fitted(&ratio(line, style)) + "\n"));
    }
    if found.pooled.len() > MOST {
        text.push_str(&format!("  and {} more; the report has all\n", found.pooled.len() - MOST));
    }
    let legend = "95 % intervals of a typical machine; \"next\": 95 % range of a further machine's ratio (needs three machines).";
    text + &style.aside(legend)
}

fn one(machine: &MachineView) -> String {
    let shards: Vec<String> = machine.shards.iter().map(u32::to_string).collect();
    let noise = machine.noise_floor.map(|noise| format!(", noise {}", number::percent(noise))).unwrap_or_default();
    let ceiling = machine.ceiling.map(|pace| format!(", ceiling {:.1} GB/s", pace / 1e9)).unwrap_or_default();
    let name = if shards.len() == 1 { "shard" } else { "shards" };
    format!(
        "  {}: {}; {name} {}, {}{noise}{ceiling}",
        machine.name,
        machine.about,
        shards.join(", "),
        plural(machine.blocks, "round")
    )
}

fn ratio(line: &PooledView, style: Style) -> String {
    let next = line.pooled.prediction.map(|found| format!("  next {}", span(found))).unwrap_or_default();
    let name = left(&safe::terminal(&line.contender), style.width.saturating_sub(50).max(12));
    format!("  {name} {:>5} ({}){next}", number::ratio(line.pooled.ratio), span(line.pooled.interval))
}
