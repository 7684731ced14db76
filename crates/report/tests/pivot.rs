//! Results by axis: the best scheduler of each filesystem, then filesystems with theirs; age, fill, workers.

mod support;

use report::chart::{Artist, Kind, chart_data};
use report::terminal::{Style, pivot, show};
use report::view::Standing;
use report::{Format, Material, View, write};
use std::fs;
use support::{filled_and_scaled, leave, viewed, with_schedulers};
use unicode_width::UnicodeWidthStr;

#[test]
fn the_best_scheduler_is_found_for_each_filesystem_and_then_the_filesystems_with_theirs() {
    let (_, view) = viewed(&with_schedulers(8));
    let (axis, pivot) = view.pivot("scheduler").expect("schedulers were varied");
    assert_eq!(axis.values, ["none", "mq-deadline", "bfq"]);
    assert_eq!(axis.groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["ext4", "xfs", "btrfs"]);
    let line = pivot
        .rows
        .iter()
        .find(|line| view.workloads[line.workload].rows[line.row].key == "read-linear:cold")
        .expect("reading in order");
    let xfs = line.groups[1][2].expect("xfs with bfq has a figure");
    assert_eq!(xfs.standing, Standing::Worse, "bfq costs xfs a third");
    assert!(xfs.ratio.is_some_and(|ratio| (1.35..1.7).contains(&ratio)), "{:?}", xfs.ratio);
    let front = |group: usize, value: usize| {
        matches!(
            line.groups[group][value].expect("a figure").standing,
            Standing::Best | Standing::Tie | Standing::Leading | Standing::Unresolved
        )
    };
    assert!((0..3).all(|group| front(group, 0) && front(group, 1)), "half a percent is no difference: {line:?}");
    let best: Vec<Standing> = line.best.iter().map(|best| best.expect("each has a best").cell.standing).collect();
    assert_eq!(best, [Standing::Best, Standing::Worse, Standing::Worse]);
    assert!(line.best.iter().flatten().all(|best| best.value != 2), "bfq is the best of no filesystem");
    assert!(pivot.summary[1].starts_with("With xfs, "), "{:?}", pivot.summary);
    let output = view.answer.besides.first().expect("what was varied is what was asked");
    assert!(output.starts_with("scheduler matters: bfq is ") && output.contains("with xfs"), "{output}");
    assert!(!view.answer.besides.iter().any(|output| output.starts_with("filesystem")), "that is the headline's");
    assert!(
        pivot.summary[3].starts_with("Each with its best scheduler, ext4 is best or tied in "),
        "{:?}",
        pivot.summary
    );
    let by_filesystem = view.pivot("filesystem").expect("filesystems differ at each scheduler").0;
    assert_eq!(by_filesystem.groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), axis.values);
}

#[test]
fn a_pivots_figures_are_those_of_the_tables() {
    let (_, view) = viewed(&with_schedulers(4));
    let mut compared = 0;
    for pivot in &view.pivots {
        for line in &pivot.rows {
            let cells = &view.workloads[line.workload].rows[line.row].cells;
            let own = line.groups.iter().flatten().flatten();
            for cell in own.copied().chain(line.best.iter().flatten().map(|best| best.cell)) {
                let figure = cells[cell.contender].figure.expect("the table has it as well");
                assert_eq!((cell.figure.median, cell.figure.trials), (figure.median, figure.trials));
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "only {compared} figures were compared");
}

#[test]
fn the_terminal_shows_a_pivot_in_eighty_columns_and_names_the_axes_that_there_are() {
    let (_, view) = viewed(&with_schedulers(6));
    let text = pivot(&view, "scheduler", Style::plain(80)).expect("schedulers were varied");
    leave("pivot.txt", &text);
    for line in text.lines() {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
    }
    for word in ["Which scheduler", "→ With ext4, ", "Each with its best scheduler", "mq-deadline", "▲"] {
        assert!(text.contains(word), "{word} is missing: {text}");
    }
    let error = pivot(&view, "age", Style::plain(80)).expect_err("age was not varied").to_string();
    assert!(error.contains("scheduler"), "{error}");
    let ascii =
        pivot(&view, "scheduler", Style { width: 80, color: false, unicode: false }).expect("the same in ASCII");
    assert!(ascii.is_ascii(), "{ascii}");
}

#[test]
fn fill_and_workers_have_charts_as_files_and_tables_in_the_page() {
    let bench = filled_and_scaled(5);
    let (material, view) = viewed(&bench);
    assert_eq!(view.pivot("fill").expect("fill was varied").0.values, ["0%", "40%", "80%"]);
    let scaling = view.scalings.first().expect("processes were varied");
    assert_eq!((scaling.setting.as_str(), scaling.values.join(" ")), ("processes", "1 2 4 8".to_owned()));
    let folder = tempfile::tempdir().expect("a scratch folder");
    write(&material, folder.path(), &[Format::Html, Format::Svg, Format::Csv, Format::Markdown])
        .expect("it is written");
    let page = fs::read_to_string(folder.path().join("index.html")).expect("the page");
    leave("filled.html", &page);
    assert!(page.contains("Each with its best fill") && page.contains("data-scaling=\"1\""));
    for name in [
        "small-files-parallel-quick-processes-1-write-cold-by-fill.svg",
        "small-files-parallel-by-processes-write-cold.svg",
    ] {
        let svg = fs::read_to_string(folder.path().join("charts").join(name)).expect(name);
        leave(name, &svg);
        assert!(svg.contains("xfs") && svg.contains(if name.contains("fill") { "80%" } else { "processes" }), "{name}");
    }
    let csv = fs::read_to_string(folder.path().join("tables/by--fill.csv")).expect("the pivot as CSV");
    assert!(csv.lines().count() > 20 && csv.contains(",groups,"), "{csv}");
    assert!(fs::metadata(folder.path().join("tables/by--fill.md")).is_ok());
}

#[test]
fn an_axis_without_order_is_drawn_as_bars_beside_each_other() {
    let (material, view) = viewed(&with_schedulers(4));
    let charts = chart_data(&material, &view);
    let artist = Artist::new(&charts).expect("the library loads");
    let number = view.axes.iter().position(|axis| axis.name == "scheduler").expect("schedulers");
    let svg = artist.svg(0, Kind::Axis(number)).expect("it is drawn").expect("it has something to show");
    leave("by-scheduler.svg", &svg);
    leave("by-scheduler.png", report::chart::png(&svg).expect("it is rasterised"));
    assert!(svg.contains("mq-deadline") && svg.contains("btrfs"));
}

#[test]
fn the_raw_device_is_no_contender_of_other_workloads() {
    let bench = support::made_up(support::Size { contenders: 3, blocks: 2 });
    let mut material = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
    let number = material.contenders.len() as u32;
    material.contenders.push(ledger::ContenderRecord {
        index: number,
        label: "device".into(),
        asked: Some(records::Contender::plain(records::DEVICE)),
        twin_of: None,
        error: None,
        cause: None,
    });
    material.trials.iter_mut().filter(|trial| trial.workload == "device").for_each(|trial| trial.contender = number);
    let view = View::of(&material).expect("the run is judged");
    assert!(view.contenders.iter().all(|contender| contender.name != "device"));
    assert!(!view.device.is_empty(), "what it delivers is shown all the same");
    let text = show(&view, Style::plain(80));
    assert!(!text.contains("device: not measured") && text.contains("The raw device"), "{text}");
}
