//! Features of filesystems, for the terminal: questions as lines, filesystems as columns.
//! In: the probed features. Out: text within the terminal's width, in several tables where there are many.

use super::style::left;
use crate::safe;
use crate::wrap::wrapped;
use records::feature::Probed;
use unicode_width::UnicodeWidthStr;

/// Columns of the questions, and the narrowest and widest of an answer.
const QUESTION: usize = 30;
const ANSWER: (usize, usize) = (12, 24);

/// `marked`: answers that are followed by a `*`.
pub fn feature_table(probed: &[Probed], marked: &dyn Fn(&Probed, &str) -> bool, width: usize) -> String {
    let widest = probed.iter().map(|one| one.heading().width() + 1).max().unwrap_or(0);
    let least = widest.clamp(ANSWER.0, ANSWER.1);
    let room = width.saturating_sub(QUESTION);
    let folds = probed.len().div_ceil((room / least).max(1)).max(1);
    let beside = probed.len().div_ceil(folds).max(1);
    let column = (room / beside).clamp(least, ANSWER.1);
    let mut text = String::new();
    for shown in probed.chunks(beside) {
        text.push_str(&part(shown, marked, column));
        text.push('\n');
    }
    text
}

fn part(shown: &[Probed], marked: &dyn Fn(&Probed, &str) -> bool, column: usize) -> String {
    let folded = |text: &str| wrapped(&safe::terminal(text), column - 1, "", "");
    let heads: Vec<Vec<String>> = shown.iter().map(|one| folded(&one.heading())).collect();
    let mut text = line("", &heads, column);
    for question in shown.first().iter().flat_map(|first| &first.features) {
        let cells: Vec<Vec<String>> = shown
            .iter()
            .map(|one| {
                let answer = one.answer(&question.key).map_or("?", |answer| answer.text.as_str());
                folded(&format!("{answer}{}", if marked(one, &question.key) { "*" } else { "" }))
            })
            .collect();
        text.push_str(&line(&question.title, &cells, column));
    }
    text
}

/// One line of the table, as high as its highest cell.
fn line(title: &str, cells: &[Vec<String>], column: usize) -> String {
    let titles = wrapped(&safe::terminal(title), QUESTION - 1, "", "  ");
    let high = cells.iter().map(Vec::len).chain([titles.len()]).max().unwrap_or(1);
    let mut text = String::new();
    for row in 0..high {
        let padded = |text: Option<&String>, columns| left(text.map_or("", String::as_str), columns);
        let mut one = padded(titles.get(row), QUESTION);
        one.extend(cells.iter().map(|cell| padded(cell.get(row), column)));
        text.push_str(one.trim_end());
        text.push('\n');
    }
    text
}
