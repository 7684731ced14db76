//! The end of the page: the device, contenders as requested and as read back, the machine, commands, and how to repeat the run.
//! In: a view and its material. Out: HTML.

use crate::view::{Material, View};
use indexmap::IndexMap;
use judge::duration;
use maud::{Markup, html};
use records::{CommandRecord, TrialRecord};

/// Most commands that one contender's list shows.
const MOST_COMMANDS: usize = 120;
/// Longest output of a command that is shown, in characters.
const LONGEST_ANSWER: usize = 600;

pub(super) fn rest(material: &Material, view: &View) -> Markup {
    html! {
        (device(view))
        (contenders(view))
        (failures(view))
        (machine(view))
        (commands(material, view))
        (again(view))
    }
}

fn device(view: &View) -> Markup {
    if view.device.is_empty() {
        return html! {};
    }
    let content = html! {
        div.scroll { table {
            thead { tr { th scope="col" { "Work" } th.n scope="col" { "Median" } th.n scope="col" { "Range" } th.n scope="col" { "Samples" } th scope="col" { "Remarks" } } }
            tbody { @for row in &view.device {
                tr {
                    th scope="row" { (row.title) }
                    td.n { (row.unit.show(row.median, None)) " " (row.unit.sign) }
                    td.n { (row.unit.show(row.range.0, None)) " to " (row.unit.show(row.range.1, None)) }
                    td.n { (row.samples) }
                    td { (row.remarks.join("; ")) }
                }
            } }
        } }
    };
    super::folded("device", "The raw device", &content)
}

fn pairs(caption: &str, pairs: &[(String, String)]) -> Markup {
    html! {
        @if !pairs.is_empty() {
            div.scroll { table {
                @if !caption.is_empty() { caption { (caption) } }
                tbody { @for (name, value) in pairs {
                    tr { th scope="row" { (name) } td { @if value.contains('\n') { pre { (value) } } @else { (value) } } }
                } }
            } }
        }
    }
}

fn contenders(view: &View) -> Markup {
    let content = html! {
        @for contender in &view.contenders {
            h3 { (contender.name) }
            @if let Some(error) = &contender.error { p.warn { "Takes no part: " (error) } }
            @if let Some(form) = &contender.nearest { p.small { "The nearest supported form of " (form.in_full()) "." } }
            @if let Some(safety) = &contender.safety { p.small { "Safety of data: " (safety) "." } }
            @if let Some(measured) = &contender.measured { p.small { "Measured: " (measured) "." } }
            details {
                summary { "Options" span.quiet { " of " (contender.name) } }
                (pairs("As requested", &contender.asked))
                (super::costs::options(&contender.options))
                (pairs("As found after mounting", &contender.found))
                (pairs("As found at the end", &contender.closing))
            }
        }
    };
    super::folded("contenders", "Contenders, as requested and as found", &content)
}

fn failures(view: &View) -> Markup {
    html! {
        @if !view.failures.is_empty() {
            section aria-labelledby="failures" {
                h2 id="failures" { "Trials that failed" }
                div.scroll { table {
                    thead { tr { th scope="col" { "Contender" } th scope="col" { "Workload" } th.n scope="col" { "Round" } th scope="col" { "Reason" } } }
                    tbody { @for failure in &view.failures {
                        tr { th scope="row" { (failure.contender) } td { (failure.workload) } td.n { (failure.block + 1) } td { (failure.reason) } }
                    } }
                } }
            }
        }
    }
}

fn machine(view: &View) -> Markup {
    let (first, others) = machine_parts(&view.run.machine);
    let content = html! {
        (pairs("", &first))
        @if !others.is_empty() { details { summary { "All known details" } (pairs("", &others)) } }
        @if !view.run.ceiling.is_empty() { (pairs("Limits of its memory and clock, without a filesystem", &view.run.ceiling)) }
    };
    super::folded("machine", "The machine", &content)
}

/// A list of headings and values.
type Pairs = Vec<(String, String)>;

/// The most important facts of a machine, and the rest.
fn machine_parts(machine: &[(String, String)]) -> (Pairs, Pairs) {
    const FIRST: [&str; 7] = ["kernel", "distribution", "architecture", "cpu", "memory", "virtualisation", "device"];
    let is_first = |(name, _): &&(String, String)| {
        let head = name.split([',', ' ']).next().unwrap_or_default();
        FIRST.contains(&head) && !name.contains("mitigations") && !name.contains("guest modules")
    };
    machine.iter().cloned().partition(|pair| is_first(&pair))
}

fn commands(material: &Material, view: &View) -> Markup {
    let content = html! {
        p.quiet { "Each command once per contender, with the number of times it ran and its first output." }
        @for contender in &view.contenders {
            @let lists = distinct(material.trials.iter().filter(|trial| trial.contender as usize == contender.index));
            @if !lists.is_empty() {
                details {
                    summary { (contender.name) ": " (lists.len()) " commands" }
                    @for (command, times) in lists.iter().take(MOST_COMMANDS) { (command_block(command, *times)) }
                    @if lists.len() > MOST_COMMANDS { p.quiet { (lists.len() - MOST_COMMANDS) " more are in the database." } }
                }
            }
        }
    };
    html! { div.screen { (super::folded("commands", "Every command that was run", &content)) } }
}

fn command_block(command: &CommandRecord, times: usize) -> Markup {
    let answer: String = command.output.chars().take(LONGEST_ANSWER).collect();
    let status = match command.status {
        Some(0) => String::new(),
        Some(status) => format!(", exit status {status}"),
        None => ", killed by a signal or never started".into(),
    };
    html! {
        pre { b { (command.line) } @if !answer.trim().is_empty() { "\n" (answer.trim_end()) } }
        p.quiet.small { (times) " ×" (status) ", " (crate::number::Unit::of_nanoseconds(command.elapsed_ns as f64)) }
    }
}

/// Commands in the order in which they were first run, with how often each was.
fn distinct<'a>(trials: impl Iterator<Item = &'a TrialRecord>) -> Vec<(&'a CommandRecord, usize)> {
    let mut known: IndexMap<&str, (&CommandRecord, usize)> = IndexMap::new();
    for command in trials.flat_map(|trial| &trial.commands) {
        known.entry(&command.line).or_insert((command, 0)).1 += 1;
    }
    known.into_values().collect()
}

fn again(view: &View) -> Markup {
    let content = html! {
        @if view.run.repeat.is_empty() { p.quiet { "The command line was not saved." } }
        @else {
            div.repeat { pre id="repeat" { (view.run.repeat) } button type="button" id="copy" { "Copy" } }
        }
        @if let Some(seconds) = view.run.seconds { p.quiet { "It took " (duration(seconds)) " here." } }
        details { summary { "The plan as resolved" } (pairs("", &view.run.plan)) }
    };
    super::folded("again", "Do it again", &content)
}
