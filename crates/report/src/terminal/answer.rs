//! The first screen: the answer, one table of everything, and its legend. It fits 80 columns and 24 lines.
//! In: a view and a style. Out: text.

use super::style::{Style, Tone, left, right, wrapped};
use super::{line, safe};
use crate::number;
use crate::view::{
    AgainstRow, AgainstView, CellView, ContenderView, CoursePoint, RowView, Standing, VariantsView, View, WorkloadView,
};
use crate::wrap::cut;
use judge::{Change, SafetyClass};
use unicode_width::UnicodeWidthStr;

/// Most lines of sentences.
const LINES: usize = 13;
/// Most lines of the table.
const ROWS: usize = 12;
/// Widest column of operation names with many contenders and with few, and narrowest and widest column of a contender.
const NAMES: (usize, usize) = (25, 48);
const COLUMN: (usize, usize) = (7, 16);
const ABREAST: usize = 6;
/// Heading of the figures.
const SCALE: &str = "TIMES SLOWER THAN BEST";
/// The same for instructions.
const COUNTED: &str = "TIMES THOSE OF THE BEST";
/// Name of the row of a workload's sum.
const ALL_STEPS: &str = "all steps";
/// Lines that a few workloads may take before the other facts.
const FEW: usize = 4;
/// Most lines of a contender's heading.
const HEADING: usize = 4;

/// The answer of a run, fit to a screen. Without any comparison, the figures themselves are the answer.
pub fn answer(view: &View, style: Style) -> String {
    let mut text = in_few_lines(view, style);
    if let Some(found) = view.against.as_ref().filter(|found| !found.rows.is_empty()) {
        return text + &against(view, found, style);
    }
    let measured = (0..view.contenders.len()).filter(|&place| view.has_figures(place)).count();
    // If no verdict is left, only the figures are shown.
    let compared = view.workloads.iter().flat_map(|workload| &workload.rows).any(|row| spread(row) > 1.0);
    let unequal = view.judgement.doubts.iter().any(judge::WorkDoubt::withholds);
    if measured > 1 && (compared || !unequal) {
        text.push_str(&table(view, style));
        text.push_str(&super::clients::short(view, style));
        return text;
    }
    if let Some(levels) = view.variants.iter().find(|one| !one.rows.is_empty()) {
        text.push_str(&self::levels(view, levels, style));
        return text + &super::clients::short(view, style);
    }
    text.extend(view.variants.iter().flat_map(|one| &one.sentences).map(|note| style.say(note, "  ")));
    for workload in view.workloads.iter().filter(|_| measured > 0) {
        line(&mut text, "");
        text.push_str(&super::table::tables(view, workload, style));
    }
    let clients = super::clients::short(view, style);
    if !clients.is_empty() {
        line(&mut text, "");
    }
    text + &clients
}

/// The answer in few sentences. Which contender to take, how certain that is and what would settle the rest are never left out.
fn in_few_lines(view: &View, style: Style) -> String {
    let answer = &view.answer;
    let head = sentence_lines(Tone::Heading, &answer.headline, style);
    let end: Vec<String> = [Some(&answer.confidence), answer.open.as_ref()]
        .into_iter()
        .flatten()
        .flat_map(|one| plain(one, style))
        .collect();
    let mut room = LINES.saturating_sub(head.len() + end.len());
    let besides: Vec<Vec<String>> = answer.besides.iter().map(|one| plain(one, style)).collect();
    let workloads = workloads(view, style);
    // A few workloads come first; of many, only one. The table below has the others.
    let all = workloads.iter().map(Vec::len).sum::<usize>();
    let first = if all <= FEW { all } else { workloads.len().min(1) };
    let besides = fitting(besides, room.saturating_sub(first));
    room -= besides.iter().map(Vec::len).sum::<usize>();
    let workloads = fitting(workloads, room);
    let lines = head.into_iter().chain(workloads.into_iter().flatten()).chain(besides.into_iter().flatten()).chain(end);
    lines.map(|one| one.trim_end().to_owned() + "\n").collect()
}

/// The answer in all its sentences.
pub(super) fn sentences(view: &View, style: Style) -> String {
    let answer = &view.answer;
    let mut lines = sentence_lines(Tone::Heading, &answer.headline, style);
    lines.extend(workloads(view, style).into_iter().flatten());
    let rest = answer.besides.iter().chain([&answer.confidence]).chain(&answer.open);
    lines.extend(rest.flat_map(|one| plain(one, style)));
    lines.into_iter().map(|one| one.trim_end().to_owned() + "\n").collect()
}

/// The lines of each workload's sentence.
fn workloads(view: &View, style: Style) -> Vec<Vec<String>> {
    let sentence = |one: &crate::view::WorkloadLine| plain(&format!("{}: {}.", one.title, one.text), style);
    view.answer.workloads.iter().map(sentence).collect()
}

/// The first of these that fit into so many lines.
fn fitting(all: Vec<Vec<String>>, mut room: usize) -> Vec<Vec<String>> {
    let fits = |one: &Vec<String>| {
        let left = room.checked_sub(one.len());
        room = left.unwrap_or(0);
        left.is_some()
    };
    all.into_iter().take_while(fits).collect()
}

fn plain(text: &str, style: Style) -> Vec<String> {
    sentence_lines(Tone::Plain, text, style)
}

/// The lines of a sentence.
fn sentence_lines(tone: Tone, text: &str, style: Style) -> Vec<String> {
    let text = wrapped(&safe::terminal(text), style.width, "  ");
    text.lines().map(|one| style.paint(tone, &style.fitted(one))).collect()
}

/// One line of the table.
struct Line<'a> {
    title: String,
    /// Absent in the line above the operations of a workload, which uses the whole width.
    row: Option<&'a RowView>,
}

fn table(view: &View, style: Style) -> String {
    let mut text = String::new();
    let shown: Vec<usize> = (0..view.contenders.len()).filter(|&place| view.has_figures(place)).collect();
    let (lines, left_out) = lines(view);
    if lines.is_empty() || shown.len() < 2 {
        return text;
    }
    let common = in_common(view, &shown);
    let heading = |place: &usize| heading(&view.contenders[*place], common.len());
    let word = |place: &usize| heading(place).iter().map(|word| word.width()).max().unwrap_or(0);
    let column = (shown.iter().map(word).max().unwrap_or(0) + 2).clamp(COLUMN.0, COLUMN.1);
    // Space that a few contenders leave is used for the names of the operations.
    let spare = style.width.saturating_sub(1 + shown.len() * column);
    let of_rows = lines.iter().filter(|line| line.row.is_some());
    let widest = of_rows.map(|line| line.title.width()).max().unwrap_or(0);
    let names = widest.clamp(SCALE.len(), spare.clamp(NAMES.0, NAMES.1));
    let room = style.width.saturating_sub(names + 1);
    // So many columns fit whatever their names; more only if the names are short.
    let column = column.min((room / shown.len().min(ABREAST)).max(COLUMN.0));
    let fits = (room / column).max(1);
    let (here, beyond) = shown.split_at(fits.min(shown.len()));
    line(&mut text, "");
    if !common.is_empty() {
        let all = format!("All of them {}:", safe::terminal(&common.join(" ")));
        line(&mut text, &style.paint(Tone::Quiet, &style.fitted(&cut(&all, style.width))));
    }
    let scale = if view.counts_instructions() { COUNTED } else { SCALE };
    headings(&mut text, scale, &here.iter().map(heading).collect::<Vec<_>>(), (names, column), style);
    for found in &lines {
        let title = safe::terminal(&found.title);
        let Some(row) = found.row else {
            line(&mut text, &style.fitted(&cut(&title, style.width)));
            continue;
        };
        let mut one = left(&cut(&title, names), names + 1);
        here.iter().for_each(|&place| one.push_str(&cell(&row.cells[place], column, style)));
        line(&mut text, &style.fitted(one.trim_end()));
    }
    legend(&mut text, view, (beyond.len(), left_out), style);
    text
}

/// One contender at several levels, each compared with the lowest.
fn levels(view: &View, found: &VariantsView, style: Style) -> String {
    // The first column's heading has the name of the varied number.
    let value = |level: &String| level.split_once('=').map_or_else(|| level.clone(), |(_, value)| value.to_owned());
    let words: Vec<Vec<String>> = found.levels.iter().map(|level| vec![safe::terminal(&value(level))]).collect();
    let rows: Vec<Held> =
        found.rows.iter().map(|row| (format!("  {}", row.title), Some(row.points.as_slice()))).collect();
    held_against(view, &format!("AT {}", found.levels[0]), &words, &rows, style)
}

/// All contenders, each compared with the one in use.
fn against(view: &View, found: &AgainstView, style: Style) -> String {
    let words: Vec<Vec<String>> = found.others.iter().map(|&place| heading(&view.contenders[place], 0)).collect();
    let (lines, _) = lines(view);
    let points = |line: &Line| {
        let row = line.row?;
        let is_row = |one: &&AgainstRow| std::ptr::eq(&view.workloads[one.workload].rows[one.row], row);
        found.rows.iter().find(is_row).map(|one| one.points.as_slice())
    };
    let rows: Vec<Held> = lines.iter().map(|line| (line.title.clone(), points(line))).collect();
    held_against(view, &found.name, &words, &rows, style)
}

/// A line of a table: its name, and its ratios; `None` for a heading.
type Held<'a> = (String, Option<&'a [Option<CoursePoint>]>);

/// A table of ratios to the contender of this name.
fn held_against(view: &View, to: &str, words: &[Vec<String>], rows: &[Held<'_>], style: Style) -> String {
    let mut text = String::from("\n");
    let widest = words.iter().flatten().map(|word| word.width()).max().unwrap_or(0);
    let column = (widest + 2).clamp(COLUMN.0, COLUMN.1);
    let scale = if view.counts_instructions() { "TIMES THOSE OF" } else { "TIMES SLOWER THAN" };
    let scale = format!("{scale} {}", safe::terminal(to));
    let longest = rows.iter().map(|(title, _)| title.width()).max().unwrap_or(0).max(scale.width());
    let names = longest.min(style.width.saturating_sub(1 + words.len() * column)).max(NAMES.0);
    let fits = (style.width.saturating_sub(names + 1) / column).clamp(1, words.len().max(1));
    headings(&mut text, &scale, &words[..fits.min(words.len())], (names, column), style);
    for (title, points) in rows.iter().take(ROWS + 1) {
        let mut one = left(&cut(&safe::terminal(title), names), names + 1);
        for point in points.iter().copied().flatten().take(fits) {
            let shown =
                point.map_or_else(|| "- ".to_owned(), |point| format!("{}{}", number::times(point.times), sign(point)));
            one.push_str(&right(&shown, column));
        }
        line(&mut text, &style.fitted(one.trim_end()));
    }
    line(&mut text, &style.paint(Tone::Quiet, "below 1: faster   ? can't tell yet   = as good   ~ likely"));
    let (rows_out, columns_out) = (rows.len().saturating_sub(ROWS + 1), words.len().saturating_sub(fits));
    legend_end(&mut text, view, &[(rows_out, "more line"), (columns_out, "more contender")], style);
    text
}

fn sign(point: CoursePoint) -> char {
    match point.change {
        None | Some(Change::Better | Change::Worse) => ' ',
        Some(Change::LikelyBetter | Change::LikelyWorse) => '~',
        Some(Change::Same) => '=',
        Some(Change::Unresolved) => '?',
    }
}

/// Each workload's sum first, then the rows in which contenders differ most; and the number of lines left out.
fn lines(view: &View) -> (Vec<Line<'_>>, usize) {
    let is_sum = |row: &RowView| view.is_sum(row);
    let all: usize = view.workloads.iter().map(|workload| workload.rows.len()).sum();
    let mut apart: Vec<f64> =
        view.workloads.iter().flat_map(|workload| &workload.rows).filter(|row| !is_sum(row)).map(spread).collect();
    apart.sort_by(|a, b| b.total_cmp(a));
    let sums = all - apart.len();
    let least = if all <= ROWS { 0.0 } else { apart.get(ROWS.saturating_sub(sums)).copied().unwrap_or(0.0) };
    let mut lines = Vec::new();
    for workload in &view.workloads {
        let rows = || workload.rows.iter().filter(|row| row.cells.iter().any(|cell| cell.ratio.is_some()));
        let summed = workload.rows.iter().any(is_sum);
        let mut parts = rows().filter(|row| !is_sum(row) && (all <= ROWS || spread(row) > least)).peekable();
        let short = short(workload).filter(|_| summed);
        let is_headed = if summed { short.is_none() } else { parts.peek().is_some() && view.workloads.len() > 1 };
        lines.extend(is_headed.then(|| Line { title: workload.title.clone(), row: None }));
        let sum = short.map_or_else(|| format!("  {ALL_STEPS}"), |name| format!("{name}, {ALL_STEPS}"));
        lines.extend(rows().filter(|row| is_sum(row)).map(|row| Line { title: sum.clone(), row: Some(row) }));
        lines.extend(parts.map(|row| Line { title: format!("  {}", row.title), row: Some(row) }));
    }
    let left_out = all.saturating_sub(lines.iter().filter(|line| line.row.is_some()).count());
    (lines, left_out)
}

/// A workload's title, else its name, if it leaves room for what follows.
fn short(workload: &WorkloadView) -> Option<&str> {
    let room = NAMES.0 - ", ".len() - ALL_STEPS.len();
    [&workload.title, &workload.name].into_iter().find(|name| name.width() <= room).map(String::as_str)
}

/// The spread of the contenders of a row.
fn spread(row: &RowView) -> f64 {
    row.cells.iter().filter_map(|cell| cell.ratio).fold(1.0, f64::max)
}

/// Words at the end of all of these names, which do not distinguish them: `by instructions`.
fn in_common(view: &View, shown: &[usize]) -> Vec<String> {
    let words = |place: &usize| view.contenders[*place].name.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let Some((first, others)) = shown.split_first() else { return Vec::new() };
    let mut common = words(first).split_off(1);
    for other in others {
        let other = words(other);
        let alike = common.iter().rev().zip(other[1..].iter().rev()).take_while(|(one, two)| one == two).count();
        common.drain(..common.len() - alike);
    }
    common
}

/// A contender's name in the lines of a heading, without so many words at its end.
fn heading(contender: &ContenderView, common: usize) -> Vec<String> {
    let sign = match contender.durability.class() {
        SafetyClass::NoFlushes | SafetyClass::Unordered => " !",
        SafetyClass::Checksummed => " +",
        SafetyClass::Unknown | SafetyClass::Ordered => "",
    };
    let name = safe::terminal(&contender.name);
    let name = name.replace('+', " +");
    let all: Vec<&str> = name.split(' ').filter(|word| !word.is_empty()).collect();
    let mut words: Vec<String> = Vec::new();
    for word in &all[..all.len().saturating_sub(common).max(1).min(all.len())] {
        // Only the version of a kernel is shown, on the same line as `on`.
        match (words.last_mut(), word.strip_prefix("debian:")) {
            (Some(last), Some(series)) if last == "on" => *last = format!("on {series}"),
            _ => words.push((*word).to_owned()),
        }
    }
    // A long word breaks after a hyphen or an equals sign: cut at the same position, two names could become equal.
    let broken = |word: String| match word.width() > COLUMN.1 - 4 {
        true => word.split_inclusive(['-', '=']).map(str::to_owned).collect(),
        false => vec![word],
    };
    let mut words: Vec<String> = words.into_iter().flat_map(broken).collect();
    if words.len() > HEADING {
        let rest = words.split_off(HEADING - 1).join(" ");
        words.push(rest);
    }
    let mut words: Vec<String> = words.iter().map(|word| cut(word, COLUMN.1 - 4)).collect();
    // The sign goes next to a short word, so that it takes no room from a long one.
    if let Some(word) = words.iter_mut().rev().min_by_key(|word| word.width()) {
        word.push_str(sign);
    }
    words
}

fn headings(text: &mut String, scale: &str, words: &[Vec<String>], (names, column): (usize, usize), style: Style) {
    let height = words.iter().map(Vec::len).max().unwrap_or(1);
    for at in 0..height {
        let title = if at + 1 == height { scale } else { "" };
        let mut one = left(&cut(title, names), names + 1);
        for word in words {
            // Names are aligned to the line above the figures, whatever their height.
            let word = (at + word.len()).checked_sub(height).and_then(|at| word.get(at)).map_or("", String::as_str);
            one.push_str(&right(&cut(word, column - 1), column));
        }
        line(text, &style.paint(Tone::Heading, &style.fitted(one.trim_end())));
    }
}

/// A ratio with its sign, flush right.
fn cell(cell: &CellView, column: usize, style: Style) -> String {
    let ratio = cell.ratio.filter(|_| cell.figure.is_some()).map(number::times);
    let (shown, tone) = match (cell.standing, ratio) {
        (_, None) => ("-".to_owned(), Tone::Quiet),
        (Standing::Best, _) => ("BEST ".to_owned(), Tone::Best),
        (Standing::Tie, Some(ratio)) => (format!("{ratio}="), Tone::Tie),
        (Standing::Leading | Standing::Unresolved, Some(ratio)) => (format!("{ratio}?"), Tone::Quiet),
        (Standing::Likely, Some(ratio)) => (format!("{ratio}~"), Tone::Plain),
        (Standing::Worse | Standing::Alone, Some(ratio)) => (format!("{ratio} "), Tone::Plain),
    };
    format!("{}{}", " ".repeat(column.saturating_sub(shown.width())), style.paint(tone, &shown))
}

fn legend(text: &mut String, view: &View, (contenders, rows): (usize, usize), style: Style) {
    let standing = |wanted: &[Standing]| {
        let cells = view.workloads.iter().flat_map(|workload| &workload.rows).flat_map(|row| &row.cells);
        cells.into_iter().any(|cell| cell.figure.is_some() && wanted.contains(&cell.standing))
    };
    let class =
        |wanted: &[SafetyClass]| view.contenders.iter().any(|contender| wanted.contains(&contender.durability.class()));
    let signs = [
        (standing(&[Standing::Leading, Standing::Unresolved]), "? can't tell from the best yet"),
        (standing(&[Standing::Tie]), "= as good as the best"),
        (standing(&[Standing::Likely]), "~ likely slower"),
        (class(&[SafetyClass::NoFlushes, SafetyClass::Unordered]), "! weaker after a crash"),
        (class(&[SafetyClass::Checksummed]), "+ checksums data"),
    ];
    let notes: Vec<&str> = signs.iter().filter(|(there, _)| *there).map(|(_, words)| *words).collect();
    // A sign stays next to its words.
    let mut lines: Vec<String> = Vec::new();
    for one in notes {
        match lines.last_mut().filter(|last| last.width() + 3 + one.width() <= style.width) {
            Some(last) => last.push_str(&format!("   {one}")),
            None => lines.push(one.to_owned()),
        }
    }
    lines.iter().for_each(|one| line(text, &style.paint(Tone::Quiet, one)));
    legend_end(text, view, &[(rows, "more line"), (contenders, "more contender")], style);
}

/// What is left out, and where it can be found.
fn legend_end(text: &mut String, view: &View, left_out: &[(usize, &str)], style: Style) {
    let beyond: Vec<String> = left_out
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| crate::view::plural(*count, what))
        .collect();
    let more = if beyond.is_empty() { String::new() } else { format!("{}, ", beyond.join(" and ")) };
    let run = &view.run.id;
    text.push_str(&style.say(&format!("{more}figures and all tables: bakeoff show {run} --full"), "  "));
}
