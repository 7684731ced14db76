//! Every kind of run is answered, and no sentence of its answer contradicts its table.

mod support;

use judge::Certainty;
use report::Material;
use report::terminal::{Style, answer};
use report::view::{RowView, Standing, View};
use support::{Bench, Size, on_axes, viewed, works};

/// Phrases that no answer has: ends of intervals as headlines, statements that a later sample may refute, nothing to say.
const NEVER: [&str; 8] =
    ["nothing to compare", "least far behind", "never", "Never", " others lead", "only contender", "NaN", "infx"];

/// Every sentence of an answer.
fn sentences(view: &View) -> Vec<String> {
    let answer = &view.answer;
    let of_workloads = answer.workloads.iter().map(|one| one.text.clone());
    let all = [answer.headline.clone(), answer.confidence.clone()].into_iter().chain(answer.open.clone());
    all.chain(answer.besides.iter().cloned()).chain(of_workloads).collect()
}

/// The lines that count for the answer: a workload's sum, where it has one.
fn counted(view: &View) -> Vec<&RowView> {
    let of_work = |rows: &'_ Vec<RowView>| rows.iter().any(|row| view.is_sum(row));
    view.workloads
        .iter()
        .flat_map(|work| work.rows.iter().map(move |row| (work, row)))
        .filter(|(work, row)| !of_work(&work.rows) || view.is_sum(row))
        .map(|(_, row)| row)
        .collect()
}

fn place(view: &View, name: &str) -> usize {
    view.contenders.iter().position(|one| one.name == name).unwrap_or_else(|| panic!("{name} is not in the table"))
}

/// What follows a text, up to the `x` that ends a number of times.
fn times_after(text: &str, before: &str) -> Option<f64> {
    let rest = text.split(before).nth(1)?;
    rest.split('x').next()?.trim().parse().ok()
}

/// An answer against its own table.
fn agrees(bench: &Bench) -> (Material, View) {
    let (material, view) = viewed(bench);
    let found = &view.answer;
    let headline = &found.headline;
    assert!(headline.len() > 10, "{headline}");
    for sentence in sentences(&view) {
        assert!(!NEVER.iter().any(|phrase| sentence.contains(phrase)), "{sentence}");
    }
    let screen = answer(&view, Style::plain(80));
    let unfolded = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains(headline.as_str()), "{headline}\n{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    for row in view.workloads.iter().flat_map(|work| &work.rows) {
        row_agrees(row);
    }
    if let Some(take) = &found.take {
        taken_agrees(&view, take);
    }
    for rival in &found.rivals {
        let rival = place(&view, rival);
        let lines = counted(&view);
        let behind = |row: &&&RowView| row.cells[rival].standing == Standing::Worse;
        // Of one line that counts, a rival cannot be slower beyond doubt.
        assert!(lines.len() > 1 || !lines.iter().any(|row| behind(&row)), "{headline}\n{screen}");
    }
    for clause in
        found.besides.iter().filter_map(|sentence| sentence.strip_prefix("Avoid ")).flat_map(|all| all.split("; "))
    {
        let times = times_after(clause, ": ").expect("it says how many times");
        let avoided = place(&view, clause.split(" for ").next().unwrap_or_default());
        let rows = view.workloads.iter().flat_map(|work| &work.rows);
        let ratios: Vec<f64> = rows.filter_map(|row| row.cells[avoided].ratio).collect();
        assert!(ratios.iter().any(|ratio| rounds_to(*ratio, times)), "{clause}: {ratios:?}\n{screen}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&report::export::results(&material, &view).expect("JSON")).expect("JSON");
    assert_eq!(json["answer"]["take"].as_str(), found.take.as_deref());
    assert_eq!(json["answer"]["headline"].as_str(), Some(headline.as_str()));
    (material, view)
}

fn rounds_to(ratio: f64, shown: f64) -> bool {
    judge::factor(ratio).parse::<f64>().is_ok_and(|rounded| (rounded - shown).abs() < 1e-9)
}

/// Ratio, interval, mark and figures of a line fit each other.
fn row_agrees(row: &RowView) {
    let better = |a: f64, b: f64| if row.higher_is_better { a > b } else { a < b };
    let figures = |cell: &report::view::CellView| cell.figure.as_ref().map(|figure| figure.median);
    let first = row.cells.iter().find(|cell| cell.standing == Standing::Best);
    for cell in &row.cells {
        let Some(ratio) = cell.ratio else { continue };
        assert!(ratio >= 1.0, "{}: {ratio}", row.title);
        if let Some((low, high)) = cell.ratio_interval {
            assert!(low <= ratio && ratio <= high, "{}: {ratio} is not in {low} to {high}", row.title);
        }
        let (Some(own), Some(best)) = (figures(cell), first.and_then(figures)) else { continue };
        let is_behind = cell.standing == Standing::Worse;
        assert!(!is_behind || better(best, own), "{}: {own} is not worse than {best}", row.title);
    }
}

/// The contender that is taken is at most as far behind as the headline has it, in every line that counts.
fn taken_agrees(view: &View, take: &str) {
    let at = place(view, take);
    assert!(view.has_figures(at), "{take} has no figures");
    let headline = &view.answer.headline;
    assert!(headline.contains(take) || headline.contains("leave"), "{headline}");
    let bound = view.answer.at_most.expect("what is taken has a bound");
    // A bound within those that keep data as safely says nothing of the others, which the table has as well.
    if headline.contains(" of those ") {
        return;
    }
    let ratios: Vec<f64> = counted(view).iter().filter_map(|row| row.cells[at].ratio).collect();
    let furthest = ratios.iter().copied().fold(1.0, f64::max);
    let comparable = view.answer.certainty.is_some_and(|certainty| certainty != Certainty::Open) || furthest <= bound;
    assert!(comparable, "{headline}: {furthest} in the table, {bound} at most");
    if let Some(times) = times_after(headline, &format!("Take {take}: ")) {
        assert!(ratios.iter().any(|ratio| rounds_to(*ratio, times)), "{headline}: {ratios:?}");
        assert!(times <= bound + 0.05, "{headline}: {bound}");
    }
}

#[test]
fn contenders_are_answered() {
    for contenders in [2, 3, 6] {
        for blocks in [1, 3, 6] {
            agrees(&support::made_up(Size { contenders, blocks }));
        }
    }
}

#[test]
fn options_schedulers_ages_and_kernels_are_answered() {
    for blocks in [2, 8] {
        agrees(&support::with_schedulers(blocks));
        agrees(&support::limited(blocks));
        agrees(&support::on_kernels(&[("ext4", 1.0), ("xfs", 0.8)], blocks));
        for speed in [0.6, 0.97, 1.0, 1.4] {
            let on = [("mount.noatime", "on")];
            let off = [("mount.noatime", "off")];
            agrees(&on_axes(&[(&on, speed), (&off, 1.0)], works::all().into_iter().take(2).collect(), blocks));
            let old = [("age", "old"), ("fill", "60%")];
            agrees(&on_axes(&[(&[], 1.0), (&old, speed)], works::all().into_iter().take(2).collect(), blocks));
        }
    }
}

#[test]
fn levels_and_single_contenders_are_answered() {
    for blocks in [1, 3, 8] {
        agrees(&support::filled_and_scaled(blocks));
        agrees(&on_axes(&[(&[], 1.0)], works::scaled(), blocks));
        agrees(&on_axes(&[(&[], 1.0)], works::all().into_iter().skip(1).take(1).collect(), blocks));
        let device = works::all().into_iter().filter(|work| work.name == "device").collect();
        agrees(&on_axes(&[(&[], 1.0)], device, blocks));
    }
}

#[test]
fn contenders_that_keep_less_are_not_taken() {
    for blocks in [2, 4, 8] {
        agrees(&support::weaker_in_place(blocks));
        let (_, view) = agrees(&support::one_that_keeps_data(blocks));
        assert_ne!(view.answer.take.as_deref(), Some("ext2"), "{}", view.answer.headline);
    }
}

#[test]
fn a_contender_that_dropped_out_is_in_the_answer_with_its_reason() {
    let (_, view) = agrees(&support::usual());
    let lost = view.contenders.iter().find(|one| one.error.is_some()).expect("one failed at the start");
    let sentence = view.answer.besides.iter().find(|one| one.contains("dropped out")).expect("it is named");
    assert!(sentence.starts_with(&format!("{} dropped out: ", lost.name)), "{sentence}");
}
