//! External labels, reasons and titles cannot inject into a page, a spreadsheet, a terminal or a path.

mod support;

use records::Contender;
use report::chart::{Artist, Kind, chart_data};
use report::terminal::{Style, show};
use report::{Format, Material, View, write};
use std::fs;
use support::{Size, made_up};

const LABELS: [&str; 4] = [
    "</script><script>alert(1)</script>",
    "=HYPERLINK(\"http://evil.invalid\",\"ext4\")",
    "../../../../tmp/escaped\u{1b}]0;title\u{7}\u{202e}",
    "\"><img src=x onerror=alert(1)>|`a`\n| b |",
];

fn hostile() -> Material {
    let bench = made_up(Size { contenders: 4, blocks: 3 });
    let mut material = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
    for (contender, label) in material.contenders.iter_mut().zip(LABELS) {
        contender.label = label.into();
        contender.asked = Some(Contender { scheduler: Some(label.into()), ..Contender::plain("ext4") });
    }
    material.run.new.title = LABELS[0].into();
    material.run.new.command_line.push(LABELS[3].into());
    material.run.new.works[0].title = LABELS[3].into();
    material.run.new.works[0].phases[0].title = LABELS[1].into();
    material.run.new.works[0].phases[0].doing = LABELS[2].into();
    let names: Vec<String> = material.run.new.works.iter().map(|work| work.name.clone()).collect();
    assert_eq!(names[1], "small-files");
    material.run.new.works[1].name = "../../up".into();
    for trial in material.trials.iter_mut().filter(|trial| trial.workload == "small-files") {
        trial.workload = "../../up".into();
        trial.reason = Some(LABELS[1].into());
    }
    for command in material.trials.iter_mut().flat_map(|trial| &mut trial.commands) {
        command.output = LABELS[0].into();
    }
    material
}

#[test]
fn the_page_and_the_charts_escape_every_text() {
    let material = hostile();
    let view = View::of(&material).expect("the run is judged");
    let charts = chart_data(&material, &view);
    let page = report::html::page(&material, &view, &charts).expect("the page is made");
    assert!(!page.contains("<script>alert"), "a script came through");
    assert!(!page.contains("<img src=x"), "an element came through");
    assert_eq!(page.matches("</script>").count(), 4, "only the page's own scripts end");
    let artist = Artist::new(&charts).expect("the library loads");
    assert_eq!(charts.axes.len(), 1, "the schedulers");
    for kind in Kind::of(&charts) {
        let svg = artist.svg(0, kind).expect("it is drawn").expect("it has something to show");
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{} holds an element of a label", kind.name());
        report::chart::png(&svg).expect("the SVG is well formed");
    }
}

#[test]
fn the_terminal_gets_no_control_characters() {
    let view = View::of(&hostile()).expect("the run is judged");
    let text = show(&view, Style::plain(100));
    let strange: Vec<char> =
        text.chars().filter(|letter| (letter.is_control() && *letter != '\n') || *letter == '\u{202e}').collect();
    assert!(strange.is_empty(), "{strange:?}");
    let text = report::terminal::pivot(&view, "scheduler", Style::plain(100)).expect("schedulers were varied");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
}

#[test]
fn no_file_leaves_the_folder_and_no_cell_is_a_formula() {
    let outer = tempfile::tempdir().expect("a scratch folder");
    let folder = outer.path().join("a/b/c");
    let formats = [Format::Csv, Format::Markdown, Format::Json, Format::Ods, Format::Hdr, Format::Bonnie, Format::Svg];
    let written = write(&hostile(), &folder, &formats).expect("the report is written");
    for path in &written {
        let real = fs::canonicalize(path).expect("the file is there");
        assert!(real.starts_with(fs::canonicalize(&folder).expect("the folder is there")), "{}", path.display());
    }
    assert_eq!(fs::read_dir(outer.path()).expect("the outer folder").count(), 1);
    for path in written.iter().filter(|path| path.extension().is_some_and(|end| end == "csv")) {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_path(path).expect("CSV");
        for record in reader.records() {
            for cell in record.expect("a line of CSV").iter().filter(|cell| cell.parse::<f64>().is_err()) {
                assert!(!cell.starts_with(['=', '+', '-', '@']), "{}: {cell}", path.display());
                assert!(!cell.contains(['\u{1b}', '\n']), "{}: {cell:?}", path.display());
            }
        }
    }
}

#[test]
fn markdown_rows_stay_whole() {
    let view = View::of(&hostile()).expect("the run is judged");
    for workload in &view.workloads {
        let sheet = report::export::workload_sheet(&view, workload).to_markdown();
        let bars = |line: &str| line.replace("\\\\", "").replace("\\|", "").matches('|').count();
        let rows: Vec<&str> = sheet.lines().filter(|line| line.starts_with('|')).collect();
        for row in &rows {
            assert_eq!(bars(row), bars(rows[0]), "{row}");
        }
        assert!(!sheet.contains("<img") && !sheet.contains("<script"));
    }
}
