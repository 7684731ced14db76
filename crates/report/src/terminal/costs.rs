//! Costs of contenders other than speed, and their options as read back, for the terminal.
//! In: a view. Out: text within the terminal's width.

use super::style::{Style, Tone, left, right, wrapped};
use crate::safe;
use crate::view::{CostsView, HEADINGS, LEGEND, View, in_words};
use unicode_width::UnicodeWidthStr;

/// Columns of each figure, a leading gap included.
const WIDTHS: [usize; 9] = [6, 6, 8, 6, 7, 6, 8, 7, 8];
/// Narrowest and widest column of names.
const NAMES: (usize, usize) = (12, 36);
/// Most contenders whose options are listed; all of them are in the report.
const MOST_LISTED: usize = 60;

/// One table per workload, and an explanation of its columns.
pub(super) fn costs(view: &View, style: Style) -> String {
    if view.costs.is_empty() {
        return String::new();
    }
    let tables: String = view.costs.iter().map(|costs| table(view, costs, style)).collect();
    style.heading("Other costs") + &tables + &style.aside(LEGEND)
}

fn table(view: &View, costs: &CostsView, style: Style) -> String {
    let longest = costs.contenders.iter().map(|cost| view.contenders[cost.contender].name.width());
    let room = style.width.saturating_sub(WIDTHS.iter().sum());
    let names = (longest.max().unwrap_or(0) + 1).min(NAMES.1).min(room).max(NAMES.0.min(room));
    let line = |first: &str, figures: &mut dyn Iterator<Item = &str>| {
        let figures: String = figures.zip(WIDTHS).map(|(figure, wide)| right(figure, wide)).collect();
        style.fitted((left(first, names) + &figures).trim_end()) + "\n"
    };
    let mut text = style.say(&costs.title, "");
    text.push_str(&style.paint(Tone::Quiet, &line("", &mut HEADINGS.iter().map(|(what, _)| *what))));
    text.push_str(&style.paint(Tone::Quiet, &line("", &mut HEADINGS.iter().map(|(_, unit)| *unit))));
    for cost in &costs.contenders {
        let name = safe::terminal(&view.contenders[cost.contender].name);
        let parts = folded(&name, names.saturating_sub(1));
        let (last, before) = parts.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
        for part in before {
            text.push_str(&line(part, &mut std::iter::empty()));
        }
        let value = cost.figures();
        text.push_str(&line(last, &mut value.iter().map(String::as_str)));
    }
    text
}

/// A name in lines of at most so many columns, broken at spaces, and within a word that is longer.
fn folded(name: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in wrapped(name, width.max(1), " ").lines() {
        let mut rest: Vec<char> = line.chars().collect();
        while rest.len() > width.max(1) {
            let tail = rest.split_off(width.max(1));
            lines.push(rest.iter().collect());
            rest = tail;
        }
        lines.push(rest.into_iter().collect());
    }
    lines
}

/// Every requested option, and the evidence that it is in effect.
pub(super) fn options(view: &View, style: Style) -> String {
    let asked: Vec<_> = view.contenders.iter().filter(|contender| !contender.options.is_empty()).collect();
    if asked.is_empty() {
        return String::new();
    }
    let mut text = style.heading("Options as requested, and as read back");
    for contender in asked.iter().take(MOST_LISTED) {
        let lines: Vec<String> = contender.options.iter().map(in_words).collect();
        text.push_str(&style.say(&contender.name, "  "));
        text.push_str(&style.say(&format!("  {}", lines.join("; ")), "  "));
    }
    if asked.len() > MOST_LISTED {
        text.push_str(&format!("{} more are in the report.\n", asked.len() - MOST_LISTED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_folded_at_spaces_and_within_long_words() {
        assert_eq!(folded("xfs rmapbt=0 logbsize=256k", 14), ["xfs rmapbt=0", " logbsize=256k"]);
        assert!(folded(&"x".repeat(40), 14).iter().all(|line| line.chars().count() <= 14));
    }
}
