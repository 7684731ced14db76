//! Changes over an ordered axis: kernels by version, each compared with the oldest, in the terminal, the page and charts.

mod support;

use judge::Change;
use report::chart::{Artist, Kind, chart_data, png};
use report::terminal::{Style, pivot};
use report::view::CoursePoint;
use report::{Format, write};
use std::fs;
use support::{filled_and_scaled, leave, on_kernels, viewed, with_schedulers};

/// Filesystems with their speeds.
const BOTH: [(&str, f64); 2] = [("ext4", 1.0), ("xfs", 0.9)];

#[test]
fn kernels_stand_by_version_and_each_is_held_against_the_oldest() {
    let (_, view) = viewed(&on_kernels(&BOTH, 8));
    let (axis, pivot) = view.pivot("kernel").expect("kernels were varied");
    assert_eq!(axis.values, ["debian:6.6", "debian:6.12", "debian:7.2"]);
    assert!(axis.ordered);
    let course = pivot.course.as_ref().expect("versions have an order");
    assert!(!course.rows.is_empty(), "{}", course.summary);
    for row in &course.rows {
        let xfs = &row.lines[1];
        assert_eq!((xfs[0].expect("the first").times, xfs[0].expect("the first").change), (1.0, None));
        let newest = xfs[2].expect("the newest");
        let (low, high) = newest.interval.expect("eight blocks allow an interval");
        assert!(low > 1.0 && low < newest.times && newest.times < high, "{newest:?}");
        assert!(matches!(newest.change, Some(Change::Worse | Change::LikelyWorse)), "{newest:?}");
        let ext4 = row.lines[0].iter().flatten();
        assert!(ext4.clone().count() == 3, "all values of a group stand in its line");
        let same = |point: &CoursePoint| !matches!(point.change, Some(Change::Worse | Change::Better));
        assert!(ext4.copied().all(|point| same(&point)), "ext4 takes what it took: {row:?}");
    }
    assert!(course.summary.starts_with("Changed between kernel debian:6.6 and debian:7.2: "), "{}", course.summary);
    let newest = "x slower with debian:7.2 than with debian:6.6";
    assert!(course.summary.contains("with xfs") && course.summary.contains(newest), "{}", course.summary);
    assert_eq!(view.answer.besides.first(), Some(&course.summary), "what was varied is what was asked");
}

#[test]
fn a_run_without_a_change_shows_the_largest_possible_change() {
    let (_, view) = viewed(&on_kernels(&BOTH[..1], 8));
    let (_, pivot) = view.pivot("kernel").expect("kernels were varied");
    let course = pivot.course.as_ref().expect("versions have an order");
    assert!(course.rows.is_empty(), "{course:?}");
    let output = &course.summary;
    assert!(output.starts_with("No change is shown in ") && output.contains(" between kernel debian:6.6"), "{output}");
    assert!(output.contains(", at most "), "{output}");
}

#[test]
fn an_axis_without_order_has_no_course_and_one_with_has() {
    let (_, view) = viewed(&with_schedulers(4));
    assert!(view.pivot("scheduler").expect("they were varied").1.course.is_none());
    let (_, view) = viewed(&filled_and_scaled(5));
    assert!(view.pivot("fill").expect("it was varied").1.course.is_some());
}

#[test]
fn the_course_is_in_the_terminal_the_page_the_pictures_and_the_json() {
    let bench = on_kernels(&BOTH, 8);
    let (material, view) = viewed(&bench);
    let text = pivot(&view, "kernel", Style::plain(80)).expect("kernels were varied");
    leave("course.txt", &text);
    assert!(text.contains("Changed between kernel debian:6.6"), "{text}");
    let folder = tempfile::tempdir().expect("a scratch folder");
    write(&material, folder.path(), &[Format::Html, Format::Svg, Format::Json]).expect("it is written");
    let page = fs::read_to_string(folder.path().join("index.html")).expect("the page");
    leave("course.html", &page);
    assert!(page.contains("data-course=\"0\"") && page.contains("id=\"by-kernel-course\""));
    assert!(
        page.contains("times slower than with the first kernel. ext4: debian:6.6 1, debian:6.12 "),
        "for screen readers"
    );
    let charts = chart_data(&material, &view);
    let course = charts.courses.first().expect("something changed");
    let name = format!("charts/{}.svg", course.id.replace('/', "-"));
    let svg = fs::read_to_string(folder.path().join(&name)).expect(&name);
    let places: Vec<usize> =
        [">6.6<", ">6.12<", ">7.2<"].iter().map(|kernel| svg.find(kernel).expect("named")).collect();
    assert!(places.is_sorted(), "by version: {places:?}");
    let artist = Artist::new(&charts).expect("the library loads");
    let drawn = artist.svg(0, Kind::Course).expect("it is drawn").expect("it has something to show");
    leave("course.png", png(&drawn).expect("it is rasterised"));
    let json = fs::read_to_string(folder.path().join("results.json")).expect("the JSON");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let kernel = json["pivots"].as_array().expect("pivots").iter().find(|pivot| pivot["course"].is_object());
    assert!(kernel.is_some_and(|pivot| pivot["course"]["rows"][0]["lines"][1][2]["times"].as_f64() > Some(1.0)));
}
