//! The page: one file, no external resources, nothing that a label could break, small enough.

mod support;

use report::chart::{Artist, Kind, chart_data, png};
use report::html::page;
use report::view::{RowView, Standing};
use report::{Material, View};
use support::{Size, made_up};

fn paged(size: Size) -> (Material, View, String) {
    of(made_up(size))
}

fn of(bench: support::Bench) -> (Material, View, String) {
    let material = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
    let view = View::of(&material).expect("the run is judged");
    let charts = chart_data(&material, &view);
    let page = page(&material, &view, &charts).expect("the page is made");
    (material, view, page)
}

fn keep(name: &str, content: impl AsRef<[u8]>) {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(path, content).expect("it can be looked at afterwards");
}

#[test]
fn a_large_run_makes_a_page_under_three_megabytes() {
    let bench = support::large(5);
    // For importing and reporting by hand; this test does not measure how long that takes.
    keep("twelve-run.json", ledger::import::export(&bench.ledger, &bench.run, false).expect("it is exported"));
    let (_, view, page) = of(bench);
    keep("twelve.html", &page);
    assert_eq!((view.contenders.iter().filter(|one| one.error.is_none()).count(), view.workloads.len()), (12, 6));
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}

#[test]
fn the_page_asks_for_nothing_from_outside() {
    let (_, _, page) = paged(Size { contenders: 6, blocks: 4 });
    keep("six.html", &page);
    let own = page.split("<script").next().expect("the part before the scripts");
    for sign in ["src=", "http://", "https://", "@import", "url("] {
        assert!(!own.contains(sign), "the page holds {sign}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_page_opens_with_the_answer_and_one_picture_of_everything() {
    let (_, view, page) = paged(Size { contenders: 6, blocks: 4 });
    let heading = page.split("<h1").nth(1).and_then(|rest| rest.split("</h1>").next()).expect("a heading");
    assert!(heading.contains("Take ") && heading.contains(view.answer.take.as_deref().expect("a choice")), "{heading}");
    let picture = page.split("aria-labelledby=\"picture\"").nth(1).and_then(|rest| rest.split("</section>").next());
    let picture = picture.expect("a picture");
    let rows: usize = view.workloads.iter().map(|workload| workload.rows.len()).sum();
    assert_eq!(picture.matches("<svg").count(), rows, "a card for each operation");
    let marks = picture.matches("class=\"mark\"").count() + picture.matches("class=\"arrow\"").count();
    assert!(marks >= rows * 6, "{marks} marks in {rows} cards");
    assert!(page.find("id=\"answer\"") < page.find("id=\"picture\""), "the answer comes first");
    assert!(page.find("id=\"picture\"") < page.find("id=\"overview\""), "the tables come after");
    assert!(page.find("<nav class=\"contents\"") < page.find("id=\"answer\""), "the contents are at the top");
}

#[test]
fn whole_workloads_come_first_and_contenders_in_the_order_of_the_answer() {
    let (_, view, page) = paged(Size { contenders: 6, blocks: 4 });
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    assert!(place("<h3>Whole workloads</h3>") < place("<h3>One large file</h3>"));
    let sums = view.workloads.iter().flat_map(|workload| &workload.rows).filter(|row| view.is_sum(row)).count();
    let first = view.workloads.iter().filter(|workload| view.is_sum(&workload.rows[0])).count();
    assert!(sums > 0 && sums == first, "{first} of {sums} sums stand first");
    let take = view.answer.take.as_deref();
    assert_eq!(take, Some(view.contenders[0].name.as_str()));
    let names = || view.contenders.iter().filter(|one| one.error.is_none()).map(|one| one.name.as_str());
    let head = page.split("<table class=\"overview\">").nth(1).and_then(|rest| rest.split("</thead>").next());
    let places: Vec<usize> = names().filter_map(|name| head?.find(&format!(">{name}<"))).collect();
    assert_eq!(places.len(), names().count(), "{head:?}");
    assert!(places.is_sorted(), "{head:?}");
}

#[test]
fn words_stand_only_beside_what_is_proven() {
    let (_, view, page) = paged(Size { contenders: 6, blocks: 4 });
    let words: Vec<&str> =
        page.split("<td class=\"proven\">").skip(1).filter_map(|cell| cell.split('<').next()).collect();
    let rows: Vec<&RowView> = view.workloads.iter().flat_map(|workload| &workload.rows).collect();
    assert_eq!(words.len(), rows.len());
    let is_proven = |row: &&&RowView| {
        let count = |wanted| row.cells.iter().filter(|cell| cell.standing == wanted).count();
        count(Standing::Best) + count(Standing::Worse) > 0 || count(Standing::Tie) > 1
    };
    assert_eq!(words.iter().filter(|words| !words.is_empty()).count(), rows.iter().filter(is_proven).count());
    assert!(words.iter().any(|words| words.ends_with("slower")), "{words:?}");
}

#[test]
fn published_figures_stand_beside_the_operation_that_they_are_about() {
    let bench = made_up(Size { contenders: 2, blocks: 2 });
    let material = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
    let mut view = View::of(&material).expect("the run is judged");
    view.published.push(report::view::PublishedView {
        workload: "small-files".into(),
        operation: "create:cold".into(),
        text: "btrfs 53 s on a hard disk".into(),
        source: "harddisk-benchmarks, 2017".into(),
    });
    let page = page(&material, &view, &chart_data(&material, &view)).expect("the page is made");
    let figure = page.split("id=\"small-files-create-cold\"").nth(1).expect("the operation has a figure");
    let figure = figure.split("</figure>").next().expect("it ends");
    assert!(figure.contains("btrfs 53 s on a hard disk") && figure.contains("harddisk-benchmarks, 2017"));
    assert_eq!(page.matches("btrfs 53 s").count(), 1);
}

#[test]
fn every_operation_has_its_pictures_as_svg_and_png() {
    let bench = made_up(Size { contenders: 6, blocks: 4 });
    let material = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
    let view = View::of(&material).expect("the run is judged");
    let charts = chart_data(&material, &view);
    let artist = Artist::new(&charts).expect("the library loads");
    let row = charts.rows.iter().position(|row| row.both).expect("a row with returned beside durable");
    for kind in Kind::ALL {
        let svg = artist.svg(row, kind).expect("it is drawn").expect("it has something to show");
        assert!(svg.starts_with("<svg") && svg.contains("btrfs"), "{}", &svg[..200.min(svg.len())]);
        keep(&format!("{}.svg", kind.name()), &svg);
        let picture = png(&svg).expect("it is rasterised");
        assert!(picture.starts_with(b"\x89PNG"));
        keep(&format!("{}.png", kind.name()), &picture);
    }
}
