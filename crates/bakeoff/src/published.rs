//! Published figures next to those of a run: `published/results.csv`, each with its source and year.
//! In: a judged run and the compiled-in figures. Out: text; published figures never enter any statistics.
//! Figures are converted to the run's unit if the published amount of work is known; otherwise they stay unchanged.

use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::text::{self, quantity};
use indexmap::IndexMap;
use judge::{Judgement, OperationId, Table};
use literature::{Figure, Medium, Source};
use report::view::PublishedView;
use report::{Material, View};
use std::collections::BTreeMap;

pub(crate) const RESULTS: &str = include_str!("../published/results.csv");
pub(crate) const SOURCES: &str = include_str!("../published/sources.csv");
/// Scale of a workload with the published sizes.
const PUBLISHED_SCALE: &str = "full";

/// Amount of work of an operation at the published scale.
#[derive(Debug, Clone, Copy)]
struct Amount {
    items: f64,
    bytes: f64,
}

/// The text of `bakeoff show --published`.
pub fn rendered(material: &Material, view: &View) -> Result<String, Failure> {
    let Beside { sections, sources, left_out } = beside(material, &view.table)?;
    let width = text::width();
    let head = format!(
        "Published figures next to those of run {}: measured on other machines, in other years, with other sizes. Statistics here ignore \
         them.",
        material.run.id
    );
    let mut shown = text::wrapped(&head, width, "", "");
    if sections.is_empty() && left_out == 0 {
        return Ok(format!("{shown}\nThere are no published figures for the operations of this run.\n"));
    }
    for (row, lines) in &sections {
        shown.push_str(&format!("\n{} ({})\n", row.name, row.cache));
        shown.push_str(&row.here(&view.table, &view.judgement, width));
        for line in lines {
            let line = format!("{}; {} [{}]", line.text, line.year, line.source);
            shown.push_str(&text::wrapped(&line, width, "  published  ", "               "));
        }
    }
    shown.push('\n');
    let used =
        |source: &&Source| sections.iter().any(|(_, lines)| lines.iter().any(|line| line.source == source.source));
    for source in sources.iter().filter(used) {
        let line = format!("[{}] {}, {}. {}", source.source, source.title, source.year, source.hardware);
        shown.push_str(&text::wrapped(&line, width, "", "  "));
    }
    if let Some(other) = medium(material).filter(|_| left_out > 0).map(other) {
        let line = format!("Left out: {left_out} published for {}, a different kind of device.", other.name());
        shown.push_str(&text::wrapped(&line, width, "", "  "));
    }
    Ok(shown)
}

/// The same for the report folder.
pub fn views(material: &Material, table: &Table) -> Result<Vec<PublishedView>, Failure> {
    let sections = beside(material, table)?.sections;
    let view = |row: &Row, line: &Line| PublishedView {
        workload: row.heading.clone(),
        operation: if row.cache.is_empty() {
            row.operation.clone()
        } else {
            format!("{}:{}", row.operation, row.cache)
        },
        text: line.text.clone(),
        source: format!("{}, {}", line.source, line.year),
    };
    // CPU shares have no row of their own in the report.
    let shown = sections.iter().filter(|(row, _)| !row.cpu);
    Ok(shown.flat_map(|(row, lines)| lines.iter().map(move |line| view(row, line))).collect())
}

/// Rows of a run, each with the published figures about it.
type Sections = Vec<(Row, Vec<Line>)>;

/// The published figures about a run.
struct Beside {
    sections: Sections,
    /// All sources.
    sources: Vec<Source>,
    /// Number of figures about these rows that are of another kind of device.
    left_out: usize,
}

fn other(medium: Medium) -> Medium {
    match medium {
        Medium::Hdd => Medium::Flash,
        Medium::Flash => Medium::Hdd,
    }
}

/// The medium of the run's devices; `None` if it is unknown or memory.
fn medium(material: &Material) -> Option<Medium> {
    let found = material.trials.iter().find_map(|trial| trial.found.as_ref().filter(|found| found.device.is_some()))?;
    // An image does not show which device holds its file.
    let real: Vec<_> = found.device.iter().chain(&found.below).filter(|device| device.backing_file.is_none()).collect();
    let is_memory = |name: &str| name.starts_with("zram") || name.starts_with("ram");
    match real.as_slice() {
        [] => None,
        all if all.iter().any(|device| device.rotational) => Some(Medium::Hdd),
        all if all.iter().any(|device| is_memory(&device.name)) => None,
        _ => Some(Medium::Flash),
    }
}

/// Rows of the run with published figures for the same kind of device, and those figures.
fn beside(material: &Material, table: &Table) -> Result<Beside, Failure> {
    let figures = literature::figures(RESULTS, "published/results.csv")?;
    let sources = literature::sources(SOURCES, "published/sources.csv")?;
    let amounts = amounts(material)?;
    let own = medium(material);
    let (mut sections, mut left_out) = (Vec::new(), 0);
    for index in 0..table.operations.len() {
        let Some(row) = Row::of(table, index) else { continue };
        let is_alike = |figure: &&Figure| own.is_none_or(|own| own == figure.medium);
        let (mine, others): (Vec<&Figure>, Vec<&Figure>) =
            figures.iter().filter(|figure| row.meets(figure)).partition(is_alike);
        left_out += others.len();
        if !mine.is_empty() {
            let key = (row.workload.clone(), row.operation.clone(), row.cache.clone());
            let lines = folded(&mine, amounts.get(&key).copied(), &row.unit, &sources);
            sections.push((row, lines));
        }
    }
    Ok(Beside { sections, sources, left_out })
}

/// Published figures of one machine and filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    text: String,
    source: String,
    year: String,
}

/// A row of the run's table that published figures can be compared with: its own figure, or its CPU share.
struct Row {
    index: usize,
    returned: Option<usize>,
    heading: String,
    workload: String,
    operation: String,
    cache: String,
    unit: String,
    name: String,
    cpu: bool,
}

impl Row {
    fn of(table: &Table, index: usize) -> Option<Self> {
        let operation = &table.operations[index];
        let id = &operation.id;
        let named = match id.figure.as_str() {
            "" => id.operation.clone(),
            samples::CPU => format!("{} cpu", id.operation),
            _ => return None,
        };
        let beside = OperationId { figure: samples::RETURNED.into(), ..id.clone() };
        let workload = id.workload.split(" (").next().unwrap_or_default().to_owned();
        Some(Self {
            index,
            returned: table.operations.iter().position(|other| other.id == beside).filter(|_| id.figure.is_empty()),
            name: format!("{}/{named}", id.workload),
            heading: id.workload.clone(),
            cpu: id.figure == samples::CPU,
            workload,
            operation: named,
            cache: id.cache.clone(),
            unit: operation.unit.clone(),
        })
    }

    fn meets(&self, figure: &Figure) -> bool {
        figure.workload == self.workload && figure.operation == self.operation && figure.cache == self.cache
    }

    /// The run's own figures, one line per contender.
    fn here(&self, table: &Table, judgement: &Judgement, width: usize) -> String {
        let mut shown = String::new();
        let names = table.contenders.iter().map(|contender| contender.name.chars().count());
        let wide = names.max().unwrap_or(0).min(30);
        for (contender, known) in table.contenders.iter().enumerate().filter(|(_, c)| c.twin_of.is_none()) {
            let Some(figure) = judgement.figure(self.index, contender) else { continue };
            let interval = figure.interval.map_or_else(String::new, |interval| {
                format!(" ({} to {})", quantity(interval.low, &self.unit), quantity(interval.high, &self.unit))
            });
            let returned = self.returned.and_then(|row| judgement.figure(row, contender));
            let clock = returned.map_or_else(String::new, |returned| {
                format!(" durable, {} returned", quantity(returned.median, &self.unit))
            });
            let name = text::harmless(&known.name);
            let median = quantity(figure.median, &self.unit);
            let first = format!("  here       {name:<wide$}  ");
            let rest = " ".repeat(first.chars().count());
            shown.push_str(&text::wrapped(&format!("{median}{interval}{clock}"), width, &first, &rest));
        }
        shown
    }
}

/// Published figures of one row, one line per machine and filesystem: `ext4 6.8 k/s; hdd; Linux 3.1.7`.
fn folded(figures: &[&Figure], amount: Option<Amount>, unit: &str, sources: &[Source]) -> Vec<Line> {
    // Values by name, conditions, unit and source.
    let mut groups: IndexMap<(&str, String, String, &str), Vec<f64>> = IndexMap::new();
    for figure in figures {
        let kernel = if figure.kernel.is_empty() { String::new() } else { format!("Linux {}", figure.kernel) };
        let shown = [&figure.options, &figure.scheduler, &figure.device, &figure.host, &kernel];
        let shown: Vec<&str> = shown.into_iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let shown = shown.join("; ");
        let name = if figure.filesystem.is_empty() { "(unnamed)" } else { &figure.filesystem };
        let (value, unit) = converted(figure, amount, unit);
        groups.entry((name, shown, unit, &figure.source)).or_default().push(value);
    }
    groups.sort_by(|(a, ..), _, (b, ..), _| a.cmp(b));
    let line = |((name, shown, unit, source), mut values): ((&str, String, String, &str), Vec<f64>)| {
        values.sort_by(f64::total_cmp);
        let value = match values.as_slice() {
            [first, .., last] => {
                format!("{} to {} ({} figures)", quantity(*first, &unit), quantity(*last, &unit), values.len())
            }
            few => few.iter().map(|only| quantity(*only, &unit)).collect(),
        };
        let year = sources.iter().find(|known| known.source == source).map_or("?", |known| &known.year);
        Line { text: format!("{name} {value}; {shown}"), source: source.into(), year: year.into() }
    };
    groups.into_iter().map(line).collect()
}

/// The value in the run's unit if it can be converted, otherwise as published.
fn converted(figure: &Figure, amount: Option<Amount>, unit: &str) -> (f64, String) {
    let bytes = match figure.unit.as_str() {
        // Bonnie++ prints K for 1,024 bytes; dd's MB and GB are decimal.
        "KB/s" => Some(figure.value * 1024.0),
        "MB/s" => Some(figure.value * 1e6),
        "GB/s" => Some(figure.value * 1e9),
        _ => None,
    };
    match (unit, bytes, amount) {
        ("B/s", Some(bytes), _) => (bytes, unit.into()),
        ("B/s", None, Some(amount)) if figure.unit == "s" && amount.bytes > 0.0 => {
            (amount.bytes / figure.value, unit.into())
        }
        ("/s", None, Some(amount)) if figure.unit == "s" && amount.items > 0.0 => {
            (amount.items / figure.value, unit.into())
        }
        _ => (figure.value, figure.unit.clone()),
    }
}

/// Items and bytes of each operation at the published scale, by workload, operation and cache state.
fn amounts(material: &Material) -> Result<BTreeMap<(String, String, String), Amount>, Failure> {
    let catalogue = Catalogue::open()?;
    let mut amounts = BTreeMap::new();
    for work in &material.run.new.works {
        let Some(workload) = catalogue.work.workloads.get(&work.name) else { continue };
        let Ok(compiled) = workload.compile(PUBLISHED_SCALE, &BTreeMap::new(), 0) else { continue };
        for facts in &compiled.phases {
            let Some(phase) = compiled.estimate.phases.iter().find(|phase| phase.name == facts.name) else { continue };
            let amount = Amount { items: phase.items as f64, bytes: phase.bytes_read.max(phase.bytes_written) as f64 };
            amounts.insert((work.name.clone(), facts.operation.clone(), facts.cache_label.clone()), amount);
        }
    }
    Ok(amounts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, unit: &str) -> Figure {
        let text = format!(
            "source,host,kernel,device,medium,filesystem,options,scheduler,workload,operation,cache,value,unit,note\n\
            harddisk-benchmarks,a-host,3.1.7,hdd,hdd,ext4,,,small-files,create,cold,{value},{unit},"
        );
        literature::figures(&text, "mine.csv").expect("a figure").remove(0)
    }

    #[test]
    fn seconds_for_a_known_amount_of_work_become_a_rate_and_other_units_stay() {
        let amount = Some(Amount { items: 300_000.0, bytes: 0.0 });
        assert_eq!(converted(&figure(60.0, "s"), amount, "/s"), (5_000.0, "/s".into()));
        assert_eq!(converted(&figure(60.0, "s"), None, "/s"), (60.0, "s".into()), "an unknown amount stays seconds");
        assert_eq!(converted(&figure(50_572.0, "KB/s"), None, "B/s"), (50_572.0 * 1024.0, "B/s".into()));
        assert_eq!(converted(&figure(100.0, "%"), amount, "%"), (100.0, "%".into()));
    }

    #[test]
    fn every_published_figure_and_source_is_understood_and_has_a_year() {
        let figures = literature::figures(RESULTS, "published/results.csv").expect("figures");
        let sources = literature::sources(SOURCES, "published/sources.csv").expect("sources");
        assert!(figures.len() > 200);
        for figure in &figures {
            let source = sources.iter().find(|source| source.source == figure.source);
            assert!(source.is_some_and(|source| source.year.parse::<u32>().is_ok()), "{figure:?}");
        }
    }

    #[test]
    fn repeats_of_one_machine_stand_in_one_line_with_their_range() {
        let (slow, fast) = (figure(60.0, "s"), figure(30.0, "s"));
        let lines = folded(&[&slow, &fast], Some(Amount { items: 300_000.0, bytes: 0.0 }), "/s", &[]);
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].text.starts_with("ext4 5.00 k/s to 10.0 k/s (2 figures); hdd; a-host; Linux 3.1.7"),
            "{lines:?}"
        );
    }
}
