//! "Other costs" in the page: a table for each workload.
//! In: a view. Out: HTML.

use crate::view::{HEADINGS, LEGEND, View};
use maud::{Markup, html};
use records::OptionFound;

pub(super) fn costs(view: &View) -> Markup {
    if view.costs.is_empty() {
        return html! {};
    }
    let content = html! {
        p.quiet { (LEGEND) }
        @for costs in &view.costs {
            div.scroll tabindex="0" role="region" aria-label={ "Costs of " (costs.title) } {
                table {
                    caption { (costs.title) }
                    thead { tr {
                        th scope="col" { "Contender" }
                        @for (what, unit) in HEADINGS {
                            th.n scope="col" { (what) @if !unit.is_empty() { ", " (unit) } }
                        }
                    } }
                    tbody { @for cost in &costs.contenders {
                        tr data-c=(cost.contender) {
                            th scope="row" { (view.contenders[cost.contender].name) }
                            @for figure in cost.figures() { td.n { (figure) } }
                        }
                    } }
                }
            }
        }
    };
    super::folded("costs", "Other costs", &content)
}

/// Options as requested and as read back, of one contender.
pub(super) fn options(options: &[OptionFound]) -> Markup {
    html! {
        @if !options.is_empty() {
            div.scroll { table {
                caption { "Options as requested, and as read back" }
                thead { tr { th scope="col" { "Requested" } th scope="col" { "Found" } th scope="col" { "By" } } }
                tbody { @for option in options {
                    tr {
                        th scope="row" { (option.asked) }
                        td { (option.found.as_deref().unwrap_or("not read back")) }
                        td { (option.by) }
                    }
                } }
            } }
        }
    }
}
