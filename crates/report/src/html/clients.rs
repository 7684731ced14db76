//! Many parallel clients, in the page: how closely they began and ended together, the figures of each, and IO500's score.
//! In: a view. Out: HTML.

use crate::number;
use crate::view::{ClientsView, View};
use maud::{Markup, html};
use records::Percentiles;

/// Scores as IO500 computes them.
pub(super) fn scores(view: &View) -> Markup {
    html! {
        @if !view.scores.is_empty() {
            section aria-labelledby="scores" {
                h2 id="scores" { "Score as IO500 computes it" }
                p.quiet { (SCORE) }
                div.scroll tabindex="0" role="region" aria-label="Scores" { table {
                    thead { tr {
                        th scope="col" { "Contender" } th.n scope="col" { "clients" } th.n scope="col" { "bandwidth, GiB/s" }
                        th.n scope="col" { "metadata, k/s" } th.n scope="col" { "score" }
                    } }
                    tbody { @for score in &view.scores {
                        tr data-c=(score.contender) {
                            th scope="row" { (view.contenders[score.contender].name) }
                            td.n { (score.clients.as_deref().unwrap_or("1")) }
                            td.n { (number::plain(score.bandwidth)) }
                            td.n { (number::plain(score.metadata)) }
                            td.n { (number::plain(score.score)) }
                        }
                    } }
                } }
            }
        }
    }
}

/// Explanation of the scores.
const SCORE: &str = "Bandwidth: geometric mean of ior-easy and ior-hard, written and read. Metadata: of mdtest-easy, mdtest-hard and find. \
    Score: the square root of their product. Sizes are fixed here, while IO500 writes for 300 s, so the score compares runs of this kind and is not \
    a valid submission. Verdicts use each figure with its interval, not this score.";

/// Rates over the whole time and over the time in which all clients worked.
pub(super) fn clients(view: &View) -> Markup {
    html! {
        @if !view.clients.is_empty() {
            section aria-labelledby="clients" {
                h2 id="clients" { "Clients side by side" }
                p.quiet { (LEGEND) }
                @for clients in &view.clients { (one(view, clients)) }
            }
        }
    }
}

/// Explanation of the clients' figures.
const LEGEND: &str = "Whole: from the first start until the last client was done; verdicts: until all data was safe. All at work: from the last \
    start until the first client was done. Latencies of all clients are merged bucket by bucket.";

fn one(view: &View, clients: &ClientsView) -> Markup {
    let name = &view.contenders[clients.contender].name;
    html! {
        h3 { (name) ": " (clients.title) }
        p { (clients.sentence()) }
        div.scroll tabindex="0" role="region" aria-label={ "Clients of " (name) " in " (clients.title) } { table {
            thead { tr {
                th scope="col" { "Operation" } th.n scope="col" { "whole" } th.n scope="col" { "all at work" }
                th.n scope="col" { "first done, s" } th.n scope="col" { "last done, s" } th.n scope="col" { "slowest" }
                th.n scope="col" { "p50" } th.n scope="col" { "p99" } th.n scope="col" { "p99.9" } th.n scope="col" { "max" }
            } }
            tbody { @for row in &clients.operations {
                tr {
                    th scope="row" { (row.title) }
                    td.n { (row.in_unit(row.whole)) }
                    td.n { (row.all_at_work.map_or_else(|| "–".to_owned(), |value| row.in_unit(value))) }
                    td.n { (number::plain(row.first_done_seconds)) }
                    td.n { (number::plain(row.last_done_seconds)) }
                    td.n { (row.slowest) }
                    (latency(row.latency))
                }
            } }
        } }
        details {
            summary { "Each client" span.quiet { " of the last trial" } }
            div.scroll tabindex="0" role="region" aria-label={ "Each client of " (name) " in " (clients.title) } { table {
                thead { tr {
                    th scope="col" { "Operation" } th.n scope="col" { "client" } th scope="col" { "machine" }
                    th.n scope="col" { "began, ms" } th.n scope="col" { "done, s" } th.n scope="col" { "rate" }
                    th.n scope="col" { "p50" } th.n scope="col" { "p99" } th.n scope="col" { "p99.9" } th.n scope="col" { "max" }
                } }
                tbody { @for row in &clients.operations { @for (number, client) in row.clients.iter().enumerate() {
                    tr {
                        th scope="row" { (row.title) } td.n { (number) } td { (client.host) }
                        td.n { (number::plain(client.began_seconds * 1e3)) }
                        td.n { (number::plain(client.done_seconds)) }
                        td.n { (row.in_unit(client.rate)) }
                        (latency(client.latency))
                    }
                } } }
            } }
        }
    }
}

fn latency(of: Option<Percentiles>) -> Markup {
    let shown = |ns: u64| number::Unit::of_nanoseconds(ns as f64);
    html! {
        @match of {
            Some(of) => @for ns in [of.p50_ns, of.p99_ns, of.p999_ns, of.max_ns] { td.n { (shown(ns)) } },
            None => @for _ in 0..4 { td.n { "–" } },
        }
    }
}
