//! The report folder: every format, and all of them agree with the ledger to the last digit.

mod support;

use report::{Format, Material, View, write};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use support::{Bench, Size, made_up};

fn written(bench: &Bench, folder: &Path, formats: &[Format]) -> (Material, View) {
    let material = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
    write(&material, folder, formats).expect("the report is written");
    let view = View::of(&material).expect("the run is judged");
    (material, view)
}

fn kept() -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("folder");
    let _ = fs::remove_dir_all(&folder);
    folder
}

#[test]
fn the_folder_holds_every_form() {
    let bench = made_up(Size { contenders: 4, blocks: 2 });
    let folder = kept();
    written(&bench, &folder, Format::ALL);
    for name in [
        "index.html",
        "results.json",
        "results.ods",
        "samples.csv",
        "bonnie.csv",
        "tables/overview.csv",
        "tables/small-files.md",
        "charts/small-files-create-cold-figures.svg",
        "charts/small-files-create-cold-latency.png",
        "histograms/mail.hlog",
    ] {
        let path = folder.join(name);
        assert!(fs::metadata(&path).is_ok_and(|found| found.len() > 200), "{name} is missing or empty");
    }
}

/// The figure of a pass over a time, as the workloads define it: a second implementation to check the reports.
fn figure(phase: &ledger::PhaseRecord, elapsed_ns: Option<u64>) -> Option<f64> {
    let outcome = &phase.outcome;
    let seconds = elapsed_ns? as f64 / 1e9;
    Some(match phase.figure {
        ledger::program::Figure::BytesPerSecond => outcome.bytes_read.max(outcome.bytes_written) as f64 / seconds,
        ledger::program::Figure::ItemsPerSecond => outcome.items as f64 / seconds,
        ledger::program::Figure::Seconds => seconds,
        ledger::program::Figure::Printed => return None,
    })
}

/// Bits of every figure in the trials of the ledger.
fn ledger_values(material: &Material) -> BTreeSet<u64> {
    let phases = material.trials.iter().flat_map(|trial| &trial.phases);
    let both = |phase: &ledger::PhaseRecord| {
        [figure(phase, Some(phase.outcome.returned_ns)), figure(phase, phase.outcome.durable_ns)]
    };
    phases.flat_map(both).flatten().map(f64::to_bits).collect()
}

fn column(text: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let at =
        reader.headers().expect("headings").iter().position(|heading| heading == name).expect("the column is there");
    reader.records().map(|record| record.expect("a line of CSV")[at].to_owned()).collect()
}

#[test]
fn every_sample_in_csv_is_the_ledgers_to_the_last_digit() {
    let bench = made_up(Size { contenders: 5, blocks: 3 });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (material, _) = written(&bench, folder.path(), &[Format::Csv]);
    let text = fs::read_to_string(folder.path().join("samples.csv")).expect("samples");
    let phases: Vec<_> = material.trials.iter().flat_map(|trial| &trial.phases).collect();
    let returned = column(&text, "value_returned");
    assert_eq!(returned.len(), phases.len(), "every pass has a line");
    for (phase, text) in phases.iter().zip(&returned) {
        assert_eq!(text.parse::<f64>().ok(), figure(phase, Some(phase.outcome.returned_ns)));
    }
    for (phase, text) in phases.iter().zip(column(&text, "value_durable")) {
        assert_eq!(text.parse::<f64>().ok(), figure(phase, phase.outcome.durable_ns));
    }
    let whole = |name: &str| column(&text, name).into_iter().map(|text| text.parse::<u64>().ok()).collect::<Vec<_>>();
    assert_eq!(whole("returned_ns"), phases.iter().map(|phase| Some(phase.outcome.returned_ns)).collect::<Vec<_>>());
    assert_eq!(whole("durable_ns"), phases.iter().map(|phase| phase.outcome.durable_ns).collect::<Vec<_>>());
}

#[test]
fn csv_has_every_interval_and_every_step_of_every_pass() {
    let bench = made_up(Size { contenders: 3, blocks: 2 });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (material, _) = written(&bench, folder.path(), &[Format::Csv]);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("the file is there");
    let phases = || material.trials.iter().flat_map(|trial| &trial.phases);
    let series = read("series.csv");
    let numbers = |text: &str, name: &str| {
        column(text, name).iter().map(|text| text.parse::<f64>().expect("a number")).collect::<Vec<_>>()
    };
    let of_ledger: Vec<&ledger::outcome::Series> = phases().filter_map(|phase| phase.outcome.series.as_ref()).collect();
    let items: Vec<f64> = of_ledger.iter().flat_map(|one| &one.items).map(|items| *items as f64).collect();
    assert!(!items.is_empty());
    assert_eq!(numbers(&series, "items"), items);
    // In this made-up run, each call takes a microsecond.
    assert!(column(&series, "mean_ns").iter().all(|mean| mean.is_empty() || mean == "1000"));
    let starts: Vec<f64> = of_ledger.iter().flat_map(|one| (0..one.items.len()).map(|at| 0.1 * at as f64)).collect();
    assert_eq!(numbers(&series, "start_seconds"), starts);
    let latency = read("latency.csv");
    let steps = || phases().flat_map(|phase| &phase.outcome.groups).flat_map(|group| group.latency.values());
    assert!(steps().count() > 0);
    assert_eq!(numbers(&latency, "max_ns"), steps().map(|found| found.max_ns as f64).collect::<Vec<_>>());
    let in_order = ["min_ns", "p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "max_ns"].map(|name| numbers(&latency, name));
    for (less, more) in in_order.iter().zip(&in_order[1..]) {
        assert!(less.iter().zip(more).all(|(less, more)| less <= more));
    }
}

#[test]
fn json_tables_and_page_carry_the_same_figures() {
    let bench = made_up(Size { contenders: 5, blocks: 3 });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (material, view) = written(&bench, folder.path(), &[Format::Json, Format::Csv, Format::Html]);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("the file is there");
    let json: serde_json::Value = serde_json::from_str(&read("results.json")).expect("it is JSON");
    let known = ledger_values(&material);
    let page = read("index.html");
    let mut compared = 0;
    for (workload, in_json) in view.workloads.iter().zip(json["workloads"].as_array().expect("workloads")) {
        let medians = column(&read(&format!("tables/{}.csv", workload.slug)), "median");
        let mut medians = medians.iter();
        for (row, in_json) in workload.rows.iter().zip(in_json["operations"].as_array().expect("operations")) {
            for (cell, in_json) in row.cells.iter().zip(in_json["results"].as_array().expect("results")) {
                let judged = view.judgement.figure(row.operation, view.contenders[cell.contender].index);
                let judged = judged.map(|figure| figure.median);
                assert_eq!(in_json["figure"]["median"].as_f64(), judged, "JSON of {}", row.key);
                assert_eq!(medians.next().and_then(|text| text.parse().ok()), judged, "CSV of {}", row.key);
                if let Some(judged) = judged {
                    let exact = serde_json::to_string(&judged).expect("a number");
                    assert!(page.contains(&format!("\"median\":{exact}")), "the page lacks {exact} of {}", row.key);
                    compared += 1;
                }
                for sample in in_json["samples"].as_array().expect("samples").iter().filter(|_| row.phases.len() == 1) {
                    let value = sample["value"].as_f64().expect("a value");
                    assert!(known.contains(&value.to_bits()), "{value} of {} is not the ledger's", row.key);
                }
            }
        }
    }
    assert!(compared > 100, "only {compared} figures were compared");
}

#[test]
fn the_spreadsheet_holds_the_exact_numbers_and_a_chart_for_each_operation() {
    let bench = made_up(Size { contenders: 5, blocks: 3 });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (_, view) = written(&bench, folder.path(), &[Format::Ods]);
    let path = folder.path().join("results.ods");
    let book = spreadsheet_ods::read_ods(&path).expect("the spreadsheet library reads it back");
    for (number, workload) in view.workloads.iter().enumerate() {
        let sheet = book.sheet(number + 1);
        for (line, row) in workload.rows.iter().enumerate() {
            for cell in row.cells.iter().filter(|cell| cell.figure.is_some()) {
                let found = sheet.value(3 + line as u32, cell.contender as u32 + 1).as_f64_opt();
                assert_eq!(found, cell.figure.map(|figure| figure.median), "{} of {}", row.key, sheet.name());
            }
        }
    }
    let file = fs::File::open(&path).expect("the file opens");
    let archive = zip::ZipArchive::new(file).expect("it is a zip file");
    let objects = archive.file_names().filter(|name| name.starts_with("Object ")).count();
    assert_eq!(objects, view.workloads.iter().map(|workload| workload.rows.len()).sum::<usize>());
}

/// Values shown with a figure are rounded in one place only: readers see the same in every format.
#[test]
fn figures_that_people_read_are_the_same_in_markdown_in_the_terminal_and_in_pictures() {
    let bench = made_up(Size { contenders: 4, blocks: 4 });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (_, view) = written(&bench, folder.path(), &[Format::Markdown, Format::Svg]);
    let terminal = report::terminal::show(&view, report::terminal::Style::plain(200));
    let mut compared = 0;
    for workload in &view.workloads {
        let name = folder.path().join(format!("tables/{}.md", workload.slug));
        let markdown = fs::read_to_string(name).expect("a table");
        for row in &workload.rows {
            let name = format!("charts/{}-{}-figures.svg", workload.slug, row.slug);
            let picture = fs::read_to_string(folder.path().join(&name)).expect("a picture");
            for figure in row.cells.iter().filter_map(|cell| cell.figure) {
                let shown = row.unit.show(figure.median, figure.half_width());
                for (form, text) in [("Markdown", &markdown), ("the terminal", &terminal), (name.as_str(), &picture)] {
                    assert!(text.contains(&shown), "{shown} of {} is not in {form}", row.key);
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 80, "only {compared} figures were compared");
}

#[test]
fn ratios_in_the_overview_are_the_judges() {
    let bench = made_up(Size { contenders: 4, blocks: 4 });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (_, view) = written(&bench, folder.path(), &[Format::Csv]);
    let text = fs::read_to_string(folder.path().join("tables/overview.csv")).expect("the overview");
    let rows: Vec<_> = view.workloads.iter().flat_map(|workload| &workload.rows).collect();
    for (place, contender) in view.contenders.iter().enumerate() {
        let lines: Vec<Option<f64>> = column(&text, &contender.name).iter().map(|text| text.parse().ok()).collect();
        assert_eq!(lines, rows.iter().map(|row| row.cells[place].ratio).collect::<Vec<_>>(), "{}", contender.name);
    }
}

/// Names of all values of a JSON text, without those in lists of pairs.
fn names(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            found.extend(fields.keys().cloned());
            fields.values().for_each(|field| names(field, found));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        _ => {}
    }
}

#[test]
fn every_name_in_the_json_is_documented() {
    let documented = include_str!("../../../docs/results-schema.md");
    let mut found = BTreeSet::new();
    for bench in
        [made_up(Size { contenders: 4, blocks: 2 }), support::with_schedulers(3), support::filled_and_scaled(2)]
    {
        let material = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
        let text = report::export::results(&material, &View::of(&material).expect("it is judged")).expect("JSON");
        names(&serde_json::from_str(&text).expect("it is JSON"), &mut found);
    }
    assert!(found.len() > 60, "only {} names", found.len());
    let missing: Vec<&String> = found.iter().filter(|name| !documented.contains(&format!("`{name}`"))).collect();
    assert_eq!(missing, Vec::<&String>::new(), "docs/results-schema.md does not tell what these are");
}

#[test]
fn bonnie_lines_have_the_fields_of_bonnie() {
    let bench = made_up(Size { contenders: 3, blocks: 2 });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (material, _) = written(&bench, folder.path(), &[Format::Bonnie]);
    let text = fs::read_to_string(folder.path().join("bonnie.csv")).expect("bonnie.csv");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let twin = material.contenders.iter().find(|record| record.twin_of.is_some()).expect("a twin").index;
    let trials = material.trials.iter().filter(|trial| trial.workload == "bonnie" && trial.contender != twin).count();
    assert_eq!(lines.len(), trials);
    for line in &lines {
        assert_eq!(line.len(), 50, "{line:?}");
        assert_eq!(line[0], "1.98");
    }
    let trial = material.trials.iter().find(|trial| trial.workload == "bonnie").expect("a bonnie trial");
    let write = trial.phases.iter().find(|phase| phase.name == "block-write").expect("block writes");
    let rate = figure(write, write.outcome.durable_ns).map(|value| format!("{:.0}", value / 1024.0));
    assert_eq!(Some(lines[0][11].to_owned()), rate, "whole KiB a second");
    assert!(lines.iter().all(|line| line[5] == "192M" && line[6] == "8192"), "sizes of file and chunk: {lines:?}");
}

/// If the size was not set, it is derived from the bytes written.
#[test]
fn bonnie_lines_have_the_size_of_the_file_where_it_was_not_set_by_hand() {
    let bench = made_up(Size { contenders: 3, blocks: 2 });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut material = Material::read(&bench.ledger, None).expect("a run");
    material
        .run
        .new
        .works
        .iter_mut()
        .for_each(|work| work.settings.retain(|name, _| name != "size" && name != "chunk"));
    write(&material, folder.path(), &[Format::Bonnie]).expect("written");
    let text = fs::read_to_string(folder.path().join("bonnie.csv")).expect("bonnie.csv");
    let trial = material.trials.iter().find(|trial| trial.workload == "bonnie").expect("a bonnie trial");
    let phase = trial.phases.iter().find(|phase| phase.name == "block-write").expect("block writes");
    let size = format!("{}M", phase.outcome.bytes_written >> 20);
    assert!(text.lines().all(|line| line.split(',').nth(5) == Some(size.as_str())), "{size}: {text}");
}

#[test]
fn histograms_are_read_back_by_the_log_reader() {
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    let bench = made_up(Size { contenders: 3, blocks: 2 });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (material, _) = written(&bench, folder.path(), &[Format::Hdr]);
    let text = fs::read(folder.path().join("histograms/mail.hlog")).expect("the log");
    let mut lines = 0;
    for entry in IntervalLogIterator::new(&text) {
        let LogEntry::Interval(interval) = entry.expect("a line of the log") else {
            continue;
        };
        let tag = interval.tag().expect("a tag").to_string();
        let place: Vec<&str> = tag.split('/').collect();
        let number: usize = place[0].trim_start_matches("trial").parse().expect("the trial's number");
        let kept = &material.trials[number].phases[0].outcome.groups[0].latency["item"].hdr;
        assert_eq!(interval.encoded_histogram(), kept);
        lines += 1;
    }
    assert_eq!(lines, material.trials.iter().filter(|trial| trial.workload == "mail").count());
}

#[test]
fn formats_are_chosen_by_name() {
    assert_eq!(["html", "PNG", "pdf"].map(Format::named), [Some(Format::Html), Some(Format::Png), None]);
    assert_eq!(Format::ALL.len(), 9);
}

#[test]
fn costs_stand_in_every_form_with_all_their_digits() {
    let bench = made_up(Size { contenders: 4, blocks: 3 });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (material, view) = written(&bench, folder.path(), Format::ALL);
    let text = fs::read_to_string(folder.path().join("tables/costs.csv")).expect("costs.csv");
    assert_eq!(text.lines().count(), 1 + view.workloads.len() * 4, "a line for each workload and measured contender");
    let of = |name: &str| column(&text, name);
    assert!(of("empty_bytes").iter().all(|bytes| *bytes == "134217728"), "{:?}", of("empty_bytes"));
    let at = of("workload").iter().zip(of("contender")).position(|(work, who)| work == "sequential" && who == "ext4");
    let output: f64 = of("written_per_byte")[at.expect("ext4 was measured")].parse().expect("a number");
    let mut expected: Vec<f64> = material
        .trials
        .iter()
        .filter(|trial| trial.contender == 0 && trial.workload == "sequential")
        .map(|trial| (3u64 << 30) as f64 / trial.phases.iter().map(|p| p.outcome.bytes_written).sum::<u64>() as f64)
        .collect();
    expected.sort_by(f64::total_cmp);
    assert_eq!(output, expected[1], "the median of three");
    let json = fs::read_to_string(folder.path().join("results.json")).expect("results.json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["costs"][0]["contenders"][0]["make_seconds"], 0.12);
    let page = fs::read_to_string(folder.path().join("index.html")).expect("the page");
    assert!(page.contains("Other costs") && page.contains("href=\"#costs\""));
    let book = spreadsheet_ods::read_ods(folder.path().join("results.ods")).expect("it is read back");
    let costs = (0..book.num_sheets()).map(|at| book.sheet(at)).find(|sheet| sheet.name() == "Costs").expect("a sheet");
    assert_eq!(costs.value(1, 2).as_f64_opt(), Some(0.12));
}
