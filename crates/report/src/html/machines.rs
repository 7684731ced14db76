//! The machines of a run that was merged from shards, on the page.
//! In: a view. Out: HTML; nothing where all blocks are of one machine.

use crate::number;
use crate::view::{MachinesView, View, span_words as span};
use maud::{Markup, html};

pub(super) fn machines(view: &View) -> Markup {
    html! {
        @if let Some(found) = &view.machines {
            section aria-labelledby="machines" {
                h2 id="machines" { "Machines" }
                p { (found.sentence()) }
                @if !found.unlike.is_empty() { ul { @for note in &found.unlike { li { (note) } } } }
                (each(found))
                (pooled(found))
            }
        }
    }
}

fn each(found: &MachinesView) -> Markup {
    html! {
        div.scroll { table {
            caption { "Each by itself" }
            thead { tr { th scope="col" { "Machine" } th scope="col" { "What it is" } th scope="col" { "Shards" } th.n scope="col" { "Rounds" } th.n scope="col" { "Noise of the control" } th.n scope="col" { "Ceiling, GB/s" } } }
            tbody { @for machine in &found.machines {
                tr {
                    th scope="row" { (machine.name) }
                    td { (machine.about) }
                    td { (machine.shards.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")) }
                    td.n { (machine.blocks) }
                    td.n { (machine.noise_floor.map(number::percent).unwrap_or_else(|| "not measured".into())) }
                    td.n { (machine.ceiling.map(|pace| format!("{:.1}", pace / 1e9)).unwrap_or_else(|| "not measured".into())) }
                }
            } }
        } }
    }
}

fn pooled(found: &MachinesView) -> Markup {
    html! {
        @if found.pooled.is_empty() {
            p.small { "Too few rounds on each machine to compare contenders within it: at least three are needed." }
        } @else {
            div.scroll { table {
                caption { "Times slower than the best, compared within machines and pooled over them (random effects)" }
                thead { tr { th scope="col" { "Work" } th scope="col" { "Contender" } th scope="col" { "Against" } th.n scope="col" { "Ratio" } th.n scope="col" { "95 % interval" } th.n scope="col" { "A further machine" } th scope="col" { "Each machine" } } }
                tbody { @for line in &found.pooled {
                    tr {
                        th scope="row" { (line.workload) ", " (line.title) }
                        td { (line.contender) }
                        td { (line.best) }
                        td.n { (number::ratio(line.pooled.ratio)) }
                        td.n { (span(line.pooled.interval)) }
                        td.n { (line.pooled.prediction.map(span).unwrap_or_else(|| "three machines are needed".into())) }
                        td { (line.each.iter().map(|(name, ratio)| format!("{name} {}", number::ratio(*ratio))).collect::<Vec<_>>().join(", ")) }
                    }
                } }
            } }
        }
    }
}
