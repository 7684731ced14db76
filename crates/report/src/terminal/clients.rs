//! Many parallel clients, their scaling and IO500's score, for the terminal.
//! In: a view. Out: text within the terminal's width.

use super::style::{Style, Tone, left, right};
use crate::number;
use crate::safe;
use crate::view::{ClientsView, ScoreView, View, plural};

/// Columns of figures, a leading gap included.
const WIDTHS: [usize; 6] = [12, 13, 9, 9, 9, 9];
const HEADINGS: [&str; 6] = ["whole", "all at work", "first, s", "last, s", "p50", "p99"];
/// Clients that are listed individually; all of them are in the report.
const MOST_LISTED: usize = 16;

/// The clients of each workload.
pub(super) fn clients(view: &View, style: Style) -> String {
    if view.clients.is_empty() {
        return String::new();
    }
    let mut text = style.heading("Clients side by side");
    view.clients.iter().for_each(|clients| text.push_str(&table(view, clients, style)));
    text
}

fn table(view: &View, clients: &ClientsView, style: Style) -> String {
    let name = &view.contenders[clients.contender].name;
    let mut text = style.say(&format!("{name}, {}: {}", clients.title, clients.sentence()), "");
    let names = style.width.saturating_sub(WIDTHS.iter().sum());
    let line = |first: &str, figures: &[String]| {
        let figures: String = figures.iter().zip(WIDTHS).map(|(figure, wide)| right(figure, wide)).collect();
        let first: String = first.chars().take(names.saturating_sub(1)).collect();
        style.fitted((left(&first, names) + &figures).trim_end()) + "\n"
    };
    text.push_str(&style.paint(Tone::Quiet, &line("", &HEADINGS.map(str::to_owned))));
    let shown = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), |ns| number::Unit::of_nanoseconds(ns as f64));
    for row in &clients.operations {
        let figures = [
            row.in_unit(row.whole),
            row.all_at_work.map_or_else(|| "–".to_owned(), |value| row.in_unit(value)),
            number::plain(row.first_done_seconds),
            number::plain(row.last_done_seconds),
            shown(row.latency.map(|latency| latency.p50_ns)),
            shown(row.latency.map(|latency| latency.p99_ns)),
        ];
        text.push_str(&line(&safe::terminal(&row.title), &figures));
        for (number, client) in row.clients.iter().enumerate().take(MOST_LISTED) {
            let slowest = if number as u32 == row.slowest { ", slowest" } else { "" };
            let figures = [
                row.in_unit(client.rate),
                String::new(),
                String::new(),
                number::plain(client.done_seconds),
                shown(client.latency.map(|latency| latency.p50_ns)),
                shown(client.latency.map(|latency| latency.p99_ns)),
            ];
            let first = format!("  {number} {}{slowest}", safe::terminal(&client.host));
            text.push_str(&style.paint(Tone::Quiet, &line(&first, &figures)));
        }
        if row.clients.len() > MOST_LISTED {
            text.push_str(&format!("  {} more clients are in the report.\n", row.clients.len() - MOST_LISTED));
        }
    }
    text
}

/// The scaling efficiency.
pub(super) fn scalings(view: &View, style: Style) -> String {
    let note: Vec<&String> = view.scalings.iter().flat_map(|scaling| &scaling.sentences).collect();
    if note.is_empty() {
        return String::new();
    }
    style.heading("Scaling") + &note.into_iter().map(|sentence| style.say(sentence, "  ")).collect::<String>()
}

/// Their part of the first screen: the largest start skew, the scaling efficiency, and the score.
pub(super) fn short(view: &View, style: Style) -> String {
    let most = |of: fn(&ClientsView) -> f64| view.clients.iter().map(of).fold(0.0, f64::max);
    let Some(many) = view.clients.iter().max_by_key(|clients| (clients.clients, clients.machines)) else {
        return scalings(view, style) + &scores(view, style);
    };
    let text = format!(
        "{} on {} began within {} ms of each other; figures of each: bakeoff show {} --full",
        plural(many.clients, "client"),
        plural(many.machines, "machine"),
        number::plain(most(|clients| clients.skew_seconds) * 1e3),
        view.run.id,
    );
    style.say(&text, "  ") + &scalings(view, style) + &scores(view, style)
}

/// Scores as IO500 computes them: a line for each contender. Empty where its work was not done.
pub(super) fn scores(view: &View, style: Style) -> String {
    let shown = |score: &ScoreView| {
        let clients = score.clients.as_deref().map_or_else(String::new, |clients| format!(" with {clients} clients"));
        let text = format!(
            "Score as IO500 computes it, {}{clients}: {} (bandwidth {} GiB/s, metadata {} k/s); no verdict uses it.",
            view.contenders[score.contender].name,
            number::plain(score.score),
            number::plain(score.bandwidth),
            number::plain(score.metadata),
        );
        style.say(&text, "  ")
    };
    view.scores.iter().map(shown).collect()
}
