//! Pages of a ledger: runs, a run's report, the samples of a figure, a comparison of two runs.
//! In: a browser's request. Out: pages, made anew each time from the ledger with the judge and report of the other verbs.

use crate::comparing::{self, Named};
use crate::failure::Failure;
use crate::show::Shown;
use crate::{published, text};
use jiff::Timestamp;
use judge::{Change, Compared, Comparison};
use ledger::{Access, Ledger};
use records::RunRecord;
use report::pages::{self, CompareChoice, Line, RunLine, Runs, Section, WhyPage, encoded};
use report::view::{self, CellView};
use report::{Links, Tone, View};
use std::path::{Path, PathBuf};
use web::{Answer, Asked, Site};

/// Runs on one page.
const A_PAGE: usize = 100;
/// Most words of a search that are used.
const WORDS: usize = 20;
/// Most letters of the line that lists contenders and workloads.
const ABOUT: usize = 240;
/// Most runs that are offered for a comparison.
const OFFERED: usize = 50;

/// The pages of a ledger.
pub struct LedgerPages {
    path: PathBuf,
}

impl LedgerPages {
    /// Pages of this ledger.
    pub fn of(path: &Path) -> LedgerPages {
        LedgerPages { path: path.into() }
    }

    fn page(&self, asked: &Asked) -> Result<Option<Answer>, Failure> {
        let ledger = Ledger::open(&self.path, Access::Read)?;
        Ok(Some(match asked.page.as_str() {
            "" => Answer::page(runs(&ledger, asked)?),
            "run" => Answer::standing_alone(run(&ledger, asked.value("id"))?),
            "why" => Answer::page(why(&ledger, asked)?),
            "compare" => Answer::page(compare(&ledger, asked)?),
            _ => return Ok(None),
        }))
    }
}

impl Site for LedgerPages {
    fn answer(&mut self, asked: &Asked) -> Answer {
        match self.page(asked) {
            Ok(answer) => answer.unwrap_or_else(Answer::nothing_there),
            Err(failure) => Answer::page(pages::trouble(&failure.text, &home())).with_status(404),
        }
    }
}

fn home() -> Vec<(String, String)> {
    vec![("./".into(), "All runs".into())]
}

/// The address of a run's page.
fn way_to(id: &str) -> String {
    format!("run?id={}", encoded(id))
}

/// Runs that contain every word of the search, latest first.
fn runs(ledger: &Ledger, asked: &Asked) -> Result<String, Failure> {
    let search = asked.value("q").unwrap_or_default();
    let words: Vec<String> = search.split_whitespace().take(WORDS).map(str::to_lowercase).collect();
    let mut found: Vec<RunLine> = ledger.runs()?.iter().map(run_line).filter(|line| has(line, &words)).collect();
    found.reverse();
    let first = asked.value("first").and_then(|first| first.parse().ok()).unwrap_or(0);
    let first = if first < found.len() { first } else { 0 };
    Ok(pages::runs(&Runs {
        ledger: ledger.path().display().to_string(),
        search: search.into(),
        found: found.len(),
        first,
        lines: found.into_iter().skip(first).take(A_PAGE).map(shortened).collect(),
        a_page: A_PAGE,
    }))
}

fn run_line(run: &RunRecord) -> RunLine {
    let began = Timestamp::from_millisecond(run.began_ms).unwrap_or_default();
    let works = run.new.works.iter().map(|work| work.name.as_str()).collect::<Vec<_>>().join(", ");
    let plan = run.new.plan.as_ref();
    let contenders = plan.map(records::ResolvedPlan::contender_records).unwrap_or_default();
    let contenders = contenders.iter().filter(|contender| contender.twin_of.is_none());
    let contenders = contenders.map(|contender| contender.label.as_str()).collect::<Vec<_>>().join(", ");
    let about = [works, contenders].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
    RunLine {
        id: run.id.clone(),
        began: began.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        status: run.status.name().into(),
        title: if run.new.title.is_empty() { run.id.clone() } else { run.new.title.clone() },
        about,
    }
}

/// The search uses all of `about`; the page shows as much as fits.
fn shortened(line: RunLine) -> RunLine {
    RunLine { about: text::shortened(&line.about, ABOUT), ..line }
}

fn has(line: &RunLine, words: &[String]) -> bool {
    let all = format!("{} {} {} {} {}", line.id, line.began, line.status, line.title, line.about).to_lowercase();
    words.iter().all(|word| all.contains(word))
}

/// A run's report, with links to the samples of its figures.
fn run(ledger: &Ledger, id: Option<&str>) -> Result<String, Failure> {
    let Shown { material, mut view } = Shown::read(ledger, id)?;
    view.published = published::views(&material, &view.table)?;
    let id = encoded(&material.run.id);
    let mut top = home();
    if let [first, second, ..] = &view.contenders[..] {
        let side = |contender: &str| encoded(&format!("{}:{contender}", material.run.id));
        let way = format!("compare?a={}&b={}", side(&first.name), side(&second.name));
        top.push((way, "Compare two contenders".into()));
    }
    let links = Links { top, why: Some(format!("why?run={id}&cell=")) };
    let charts = report::chart::chart_data(&material, &view);
    Ok(report::html::linked_page(&material, &view, &charts, &links)?)
}

/// The samples behind a figure.
fn why(ledger: &Ledger, asked: &Asked) -> Result<String, Failure> {
    let cell = asked.value("cell").ok_or_else(|| Failure::usage("the address has no `cell` parameter"))?;
    let Shown { material, view } = Shown::read(ledger, asked.value("run"))?;
    let why = view::why(&material, &view, cell)?;
    let id = &material.run.id;
    let mut top = home();
    top.push((way_to(id), "The whole run".into()));
    Ok(pages::why(&WhyPage { why, top, others: others(&view, id, cell) }))
}

/// The same operation of other contenders.
fn others(view: &View, id: &str, cell: &str) -> Vec<(String, String)> {
    let parts: Vec<&str> = cell.splitn(3, '/').collect();
    let [workload, row, contender] = parts[..] else { return Vec::new() };
    let Some((_, row_view, _)) = view.find(workload, row, contender) else { return Vec::new() };
    let measured = |cell: &&CellView| cell.figure.is_some() && view.contenders[cell.contender].name != contender;
    let way = |cell: &CellView| {
        let name = &view.contenders[cell.contender].name;
        (why_way(id, &format!("{workload}/{row}/{name}")), name.clone())
    };
    row_view.cells.iter().filter(measured).map(way).collect()
}

fn why_way(id: &str, cell: &str) -> String {
    format!("why?run={}&cell={}", encoded(id), encoded(cell))
}

/// Two runs, or two contenders, side by side.
fn compare(ledger: &Ledger, asked: &Asked) -> Result<String, Failure> {
    let (Some(a), Some(b)) = (asked.value("a"), asked.value("b")) else {
        return Err(Failure::usage("a comparison needs two contenders or runs: name them as a and b"));
    };
    let (comparison, a, b) = comparing::compared(ledger, a, b)?;
    let choice = |named: &Named| {
        let contender = named.contender.map(|index| named.table.contenders[index].name.as_str());
        chosen(named.run(), contender)
    };
    let choices = choices(ledger, &[a.run(), b.run()])?;
    Ok(pages::compared(&pages::Compared {
        a: choice(&a),
        b: choice(&b),
        choices,
        meaning: comparing::meaning(&comparison, &a, &b),
        margin: comparison.smallest_effect,
        sections: sections(&comparison, &a, &b),
        unmatched: comparison.unmatched.clone(),
    }))
}

fn chosen(run: &str, contender: Option<&str>) -> CompareChoice {
    match contender {
        Some(name) => CompareChoice { value: format!("{run}:{name}"), label: format!("{name}, run {run}") },
        None => CompareChoice { value: run.into(), label: format!("run {run}, all contenders") },
    }
}

/// Both runs, their contenders, and the latest other runs.
fn choices(ledger: &Ledger, sides: &[&str]) -> Result<Vec<CompareChoice>, Failure> {
    let mut ids: Vec<String> = sides.iter().map(|id| (*id).to_owned()).collect();
    ids.dedup();
    let mut choices = Vec::new();
    for id in &ids {
        let contenders = ledger.contenders(id)?;
        let real = contenders.iter().filter(|contender| contender.twin_of.is_none());
        choices.extend(real.map(|contender| chosen(id, Some(&contender.label))));
    }
    let others = ledger.runs()?.into_iter().rev().map(|run| run.id).filter(|id| !ids.contains(id)).take(OFFERED);
    choices.extend(ids.iter().cloned().chain(others).map(|id| chosen(&id, None)));
    Ok(choices)
}

/// Operations under the same headings as in the terminal.
fn sections(comparison: &Comparison, a: &Named, b: &Named) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for row in &comparison.rows {
        let who = if row.a == row.b && a.contender.is_none() { format!(", {}", row.a) } else { String::new() };
        let heading = format!("{}{who}", row.operation.workload);
        if sections.last().is_none_or(|last| last.heading != heading) {
            sections.push(Section { heading, lines: Vec::new() });
        }
        if let Some(last) = sections.last_mut() {
            last.lines.push(line(row, a, b));
        }
    }
    sections
}

fn line(row: &Compared, a: &Named, b: &Named) -> Line {
    let id = &row.operation;
    let known = a.table.operations.iter().find(|known| known.id == *id);
    let unit = known.map_or("", |known| known.unit.as_str());
    let key = id.key();
    let way = |named: &Named, contender: &str| why_way(named.run(), &format!("{}/{key}/{contender}", id.workload));
    let digits = comparing::times(row.ratio);
    Line {
        operation: format!("{} {}", id.operation, id.cache).trim().into(),
        a: text::quantity(row.a_median, unit),
        b: text::quantity(row.b_median, unit),
        ratio: row.ratio,
        interval: row.interval.map(|interval| (interval.low, interval.high)),
        shown: format!("{digits} ({})", comparing::interval(row)),
        change: comparing::change(row.change),
        tone: match row.change {
            Change::Better | Change::LikelyBetter => Tone::Good,
            Change::Worse => Tone::Broken,
            Change::LikelyWorse => Tone::Warning,
            Change::Same | Change::Unresolved => Tone::Plain,
        },
        why: (way(a, &row.a), way(b, &row.b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_runs_that_have_every_word() {
        let line = RunLine {
            id: "20261120-160843-3f2a".into(),
            began: "2026-11-20 16:08 UTC".into(),
            status: "finished".into(),
            title: "ext4 and xfs on images".into(),
            about: "small-files: ext4, xfs".into(),
        };
        let words = |text: &str| text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>();
        for found in ["", "XFS", "3f2a", "2026-11-20 small-files", "finished ext4"] {
            assert!(has(&line, &words(found)), "{found}");
        }
        assert!(!has(&line, &words("ext4 btrfs")));
    }
}
