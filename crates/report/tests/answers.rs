//! Every kind of run gets an answer, and no sentence of it contradicts the table.

mod support;

use judge::Certainty;
use records::{Backend, RunStatus};
use report::Material;
use report::terminal::{Style, answer};
use report::view::{CellView, RowView, Standing, View, WorkloadLine, WorkloadView};
use support::kinds::{at_times, in_guests, on_machines, on_modelled, with_clients};
use support::{Bench, Size, on_axes, viewed, works};

/// Phrases that no answer contains: ends of intervals as headlines, statements that a later sample may refute, empty statements.
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

/// What follows a text, up to the `x` that ends a ratio.
fn times_after(text: &str, before: &str) -> Option<f64> {
    let rest = text.split(before).nth(1)?;
    rest.split('x').next()?.trim().parse().ok()
}

/// Compares an answer with its own table.
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
        row_agrees(&view, row);
    }
    if let Some(take) = &found.take {
        taken_agrees(&view, take);
    }
    for rival in &found.rivals {
        let rival = place(&view, rival);
        let lines = counted(&view);
        let behind = |row: &&&RowView| row.cells[rival].standing == Standing::Worse;
        // With one line that counts, a rival cannot be slower beyond doubt.
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
    for sentence in found.besides.iter().filter_map(|sentence| sentence.strip_prefix("In its worst single step ")) {
        step_agrees(&view, sentence);
    }
    view.answer.workloads.iter().for_each(|line| workload_agrees(&view, line));
    // A page takes long to draw, and that of more rounds has the same sentences.
    if view.counts.blocks <= 2 {
        page_agrees(&material, &view);
    }
    let json: serde_json::Value =
        serde_json::from_str(&report::export::results(&material, &view).expect("JSON")).expect("JSON");
    assert_eq!(json["answer"]["take"].as_str(), found.take.as_deref());
    assert_eq!(json["answer"]["headline"].as_str(), Some(headline.as_str()));
    for (line, known) in json["answer"]["workloads"].as_array().expect("lines").iter().zip(&found.workloads) {
        assert_eq!((line["take"].as_str(), line["text"].as_str()), (known.take.as_deref(), Some(known.text.as_str())));
    }
    (material, view)
}

/// In the table the chosen contender is this far behind in its worst step.
fn step_agrees(view: &View, sentence: &str) {
    let take = view.answer.take.as_deref().expect("one is taken");
    let at = place(view, take);
    let times: f64 = match sentence.strip_prefix("level with the best") {
        Some(_) => 1.0,
        None => sentence.split('x').next().and_then(|times| times.parse().ok()).expect("how many times slower"),
    };
    let doing = sentence.split("): ").nth(1).expect("the step is named").trim_end_matches('.');
    let about = |work: &WorkloadView, row: &RowView| {
        let cell = format!("{}/{}/{take}", work.name, row.key);
        work.sentences.iter().any(|one| one.text.starts_with(&format!("For {doing} ")) && one.cells.contains(&cell))
    };
    let rows = view.workloads.iter().flat_map(|work| work.rows.iter().map(move |row| (work, row)));
    let ratios: Vec<f64> =
        rows.filter(|(work, row)| about(work, row)).filter_map(|(_, row)| row.cells[at].ratio).collect();
    assert!(ratios.iter().any(|ratio| rounds_to(*ratio, times)), "{sentence} {ratios:?}");
}

/// The text of a page, with single spaces between words and without command markup.
fn plain(html: &str) -> String {
    let text = html
        .replace("<code class=\"command\">", "")
        .replace("</code>", "")
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The page's heading is the headline, and every sentence is on the page.
fn page_agrees(material: &Material, view: &View) {
    let charts = report::chart::chart_data(material, view);
    let page = plain(&report::html::page(material, view, &charts).expect("a page"));
    let headline = format!("<h1 id=\"answer\">{}</h1>", plain(&view.answer.headline));
    assert!(page.contains(&headline), "{headline}");
    for sentence in sentences(view) {
        assert!(page.contains(&plain(&sentence)), "{sentence}");
    }
}

/// "ext4 is best; btrfs 1.3x, zfs 5.5x slower": each ratio is that of the workload's sum, and the chosen one is not shown to be slower.
fn workload_agrees(view: &View, line: &WorkloadLine) {
    let work = view.workloads.iter().find(|work| work.title == line.title).expect("the workload");
    let Some(sum) = work.rows.iter().find(|row| view.is_sum(row)) else { return };
    if let Some(take) = &line.take {
        let cell = &sum.cells[place(view, take)];
        assert!(cell.standing != Standing::Worse, "{}: {}", line.title, line.text);
        let bound = line.at_most.expect("what is taken has a bound");
        assert!(cell.ratio.is_none_or(|ratio| ratio <= bound + 1e-9), "{}: {:?}, {bound}", line.text, cell.ratio);
    }
    let behind = line.text.rsplit("; ").next().and_then(|part| part.strip_suffix(" slower")).unwrap_or_default();
    for one in behind.split(", ").filter(|one| !one.is_empty()) {
        let (name, times) = one.trim_start_matches("... ").rsplit_once(' ').expect("a name and times");
        let times: f64 = times.trim_end_matches('x').parse().expect("times");
        let cell = &sum.cells[place(view, name)];
        assert!(matches!(cell.standing, Standing::Worse | Standing::Likely), "{}: {name}", line.text);
        assert!(cell.ratio.is_some_and(|ratio| rounds_to(ratio, times)), "{}: {:?}", line.text, cell.ratio);
    }
}

fn rounds_to(ratio: f64, shown: f64) -> bool {
    judge::factor(ratio).parse::<f64>().is_ok_and(|rounded| (rounded - shown).abs() < 1e-9)
}

/// Ratio, interval, mark and figures of a line are consistent.
fn row_agrees(view: &View, row: &RowView) {
    let better = |a: f64, b: f64| if row.higher_is_better { a > b } else { a < b };
    let figures = |cell: &CellView| cell.figure.as_ref().map(|figure| figure.median);
    // Guests are ranked separately from the host.
    let backend = |cell: &CellView| view.contenders[cell.contender].backend;
    for cell in &row.cells {
        let Some(ratio) = cell.ratio else { continue };
        assert!(ratio >= 1.0, "{}: {ratio}", row.title);
        if let Some((low, high)) = cell.ratio_interval {
            assert!(low <= ratio && ratio <= high, "{}: {ratio} is not in {low} to {high}", row.title);
        }
        let first = row.cells.iter().find(|one| one.standing == Standing::Best && backend(one) == backend(cell));
        let (Some(own), Some(best)) = (figures(cell), first.and_then(figures)) else { continue };
        let is_behind = cell.standing == Standing::Worse;
        assert!(!is_behind || better(best, own), "{}: {own} is not worse than {best}", row.title);
    }
}

/// In every line that counts, the chosen contender is at most as far behind as in the headline.
fn taken_agrees(view: &View, take: &str) {
    let at = place(view, take);
    assert!(view.has_figures(at), "{take} has no figures");
    let headline = &view.answer.headline;
    assert!(headline.contains(take) || headline.contains("leave"), "{headline}");
    let bound = view.answer.at_most.expect("what is taken has a bound");
    // The bound covers only those that keep data as safely, but the table includes the others as well.
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
fn a_single_contender_beside_the_raw_device_has_its_figures() {
    let (_, view) = agrees(&support::beside_raw_device(3));
    assert!(view.answer.headline.starts_with("ext4 alone: "), "{}", view.answer.headline);
}

#[test]
fn two_samples_of_each_give_an_answer_so_far() {
    for contenders in [2, 3] {
        let (_, view) = agrees(&support::made_up(Size { contenders, blocks: 2 }));
        let headline = &view.answer.headline;
        assert!(headline.starts_with("So far "), "{headline}");
        assert!(
            view.answer.workloads.iter().all(|line| !line.text.starts_with("take ")),
            "{:?}",
            view.answer.workloads
        );
    }
}

#[test]
fn a_run_without_a_sample_names_the_reason() {
    let mut bench = on_axes(&[(&[], 1.0)], works::scaled(), 0);
    let headline = |bench: &Bench| viewed(bench).1.answer.headline;
    assert!(headline(&bench).contains("there are no figures"), "{}", headline(&bench));
    bench.ledger.end_run(&bench.run, RunStatus::Interrupted, "stopped", 5.0).expect("the run ends");
    assert!(headline(&bench).contains("stopped in its first round"), "{}", headline(&bench));
    bench.ledger.set_open(&bench.run).expect("the run is resumed");
    assert!(headline(&bench).contains("the first round has not ended"), "{}", headline(&bench));
}

#[test]
fn contenders_that_keep_less_are_not_taken() {
    for blocks in [2, 4, 8] {
        agrees(&support::weaker_in_place(blocks));
        let (_, view) = agrees(&support::one_that_keeps_data(blocks));
        assert_ne!(view.answer.take.as_deref(), Some("ext2"), "{}", view.answer.headline);
    }
    let (_, view) = agrees(&support::one_that_keeps_data(1));
    assert!(view.answer.headline.starts_with("So far ext4: no other "), "{}", view.answer.headline);
}

#[test]
fn a_contender_that_dropped_out_is_in_the_answer_with_its_reason() {
    let (_, view) = agrees(&support::usual());
    let lost = view.contenders.iter().find(|one| one.error.is_some()).expect("one failed at the start");
    let sentence = view.answer.besides.iter().find(|one| one.contains("dropped out")).expect("it is named");
    assert!(sentence.starts_with(&format!("{} dropped out: ", lost.name)), "{sentence}");
}

/// The number after a text.
fn number_after(text: &str, before: &str) -> Option<f64> {
    text.split(before).nth(1)?.split_whitespace().next()?.parse().ok()
}

/// The text of the first screen, in one line.
fn screen(view: &View) -> String {
    answer(view, Style::plain(80)).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn many_clients_are_answered() {
    for blocks in [1, 3, 8] {
        let (material, view) = agrees(&with_clients(blocks));
        let page =
            plain(&report::html::page(&material, &view, &report::chart::chart_data(&material, &view)).expect("a page"));
        let screen = screen(&view);
        // Two contenders with one, two and four clients each.
        assert_eq!(view.clients.len(), 6);
        let most = view.clients.iter().map(|one| one.skew_seconds * 1e3).fold(0.0, f64::max);
        let stated =
            number_after(&screen, "4 clients on 2 machines began within ").expect("how well they began together");
        assert!((stated / most - 1.0).abs() < 0.005, "{most}: {screen}");
        for one in &view.clients {
            assert!(page.contains(&plain(&one.sentence())), "{}", one.sentence());
            for row in &one.operations {
                let work = view.workloads.iter().find(|work| work.name == one.workload).expect("the workload");
                let of_table = work.rows.iter().find(|known| known.title == row.title).expect("the line");
                let figure = of_table.cells[one.contender].figure.expect("a figure").median;
                // The table counts until all is safe, which is never before the last call returned.
                let is_one = (row.whole / figure - 1.0).abs() < 1e-3;
                assert!(
                    if of_table.durable { row.whole >= figure * 0.999 } else { is_one },
                    "{}: {} and {figure}",
                    row.title,
                    row.whole
                );
                assert_eq!(row.slowest as usize, row.clients.len() - 1);
                let last = row.clients.iter().map(|client| client.done_seconds).fold(0.0, f64::max);
                assert!(row.clients[row.slowest as usize].done_seconds >= last, "{}", row.title);
            }
        }
        let scaling = view.scalings.iter().find(|scaling| scaling.setting == "clients").expect("it scales");
        assert_eq!(scaling.sentences.len(), 4);
        for sentence in &scaling.sentences {
            scaling_agrees(&view, sentence);
            assert!(screen.contains(sentence) && page.contains(&plain(sentence)), "{sentence}\n{screen}");
        }
    }
}

/// Compares "ext4, Write: 4 clients do 2.64 times as much as 1, 66 % of linear scaling." with the figures of the table.
fn scaling_agrees(view: &View, sentence: &str) {
    let (who, rest) = sentence.split_once(": ").expect("a colon");
    let (name, title) = who.rsplit_once(", ").expect("a contender and a line");
    let figure = |clients: &str| {
        let is_it = |setting: &(String, String)| setting.0 == "clients" && setting.1 == clients;
        let work = view.workloads.iter().find(|work| work.settings.iter().any(is_it)).expect("the workload");
        let row = work.rows.iter().find(|row| row.title == title).expect("the line");
        row.cells[place(view, name)].figure.expect("a figure").median
    };
    let times = figure("4") / figure("1");
    let words: Vec<&str> = rest.split(' ').collect();
    assert_eq!(
        (words[0], words[3].parse::<f64>().expect("times")),
        ("4", (times * 100.0).round() / 100.0),
        "{sentence}"
    );
    let share: f64 = words[9].parse().expect("a share");
    assert!((share - times * 25.0).abs() < 0.51 && sentence.ends_with("% of linear scaling."), "{sentence}: {times}");
}

#[test]
fn several_machines_are_answered() {
    for (contenders, blocks) in [(2, 2), (2, 12), (3, 12)] {
        let (_, view) = agrees(&on_machines(contenders, blocks));
        let machines = view.machines.as_ref().expect("two machines");
        assert_eq!(machines.machines.len(), 2);
        assert!(view.warnings.contains(&machines.sentence()), "{:?}", view.warnings);
        for line in &machines.pooled {
            // Over all machines the result is as in the table: the two are not shown in opposite orders.
            let works = view.workloads.iter().filter(|work| work.name == line.workload);
            let title = |row: &&RowView| view.table.operations[row.operation].doing() == line.title;
            let row = works.flat_map(|work| &work.rows).find(title).expect("the line");
            let (best, other) = (&row.cells[place(&view, &line.best)], &row.cells[place(&view, &line.contender)]);
            let is_behind = line.pooled.interval.low > 1.0;
            assert!(!(is_behind && other.standing == Standing::Best), "{}: {}", line.title, line.contender);
            assert!(
                !is_behind || best.standing != Standing::Worse || other.standing == Standing::Worse,
                "{}",
                line.title
            );
            let (Some(ratio), Some(of_best)) = (other.ratio, best.ratio) else { continue };
            assert!(
                (line.pooled.ratio / (ratio / of_best) - 1.0).abs() < 0.05,
                "{}: {} and {ratio}",
                line.title,
                line.pooled.ratio
            );
            let (low, high) =
                line.each.iter().fold((f64::MAX, 0.0f64), |(low, high), (_, one)| (low.min(*one), high.max(*one)));
            assert!(low - 1e-9 <= line.pooled.ratio && line.pooled.ratio <= high + 1e-9, "{}", line.title);
        }
    }
}

#[test]
fn an_answer_measured_in_one_go_has_its_bound_at_another_time() {
    let (_, view) = agrees(&at_times(10, None, None));
    let found = &view.answer;
    let (at_most, later) = (found.at_most.expect("a bound"), found.at_most_later.expect("a bound at another time"));
    assert!(later > at_most, "{at_most} {later}");
    assert!(later < at_most * 1.15, "the assumed difference is 7 %: {at_most} {later}");
    let sentence = "Measured in one session (60 s); at another time on the same machine at most ";
    assert_eq!(found.confidence.matches("Measured in").count(), 1, "{}", found.confidence);
    let stated = times_after(&found.confidence, sentence).expect("the bound");
    assert!(rounds_to(later, stated), "{later}: {}", found.confidence);
    // The command appears once: after what is undecided, or here.
    let commands = sentences(&view).iter().map(|one| one.matches("bakeoff resume").count()).sum::<usize>();
    assert_eq!(commands, 1, "{:?}", sentences(&view));
    assert_eq!(found.sessions.iter().map(|session| session.block).collect::<Vec<u32>>(), [0]);
}

#[test]
fn an_answer_of_several_sessions_has_their_number_and_how_much_they_differ() {
    let (_, view) = agrees(&at_times(10, Some(6), None));
    let found = &view.answer;
    assert!(
        found.confidence.contains("Measured in 2 sessions, the last 6 h after the first; ratios differ "),
        "{}",
        found.confidence
    );
    assert!(!found.confidence.contains("another time"), "{}", found.confidence);
    assert_eq!(found.at_most, found.at_most_later);
    assert_eq!(found.sessions.iter().map(|session| session.block).collect::<Vec<u32>>(), [0, 6]);
    assert_eq!(found.sessions[1].after_seconds, Some(6.0 * 3600.0));
    let (_, once) = viewed(&at_times(10, None, None));
    let width = |view: &View| {
        let cells = view.workloads.iter().flat_map(|work| &work.rows).flat_map(|row| &row.cells);
        cells.filter_map(|cell| cell.ratio_interval).map(|(low, high)| (high / low).ln()).sum::<f64>()
    };
    assert!(width(&view) > width(&once), "two sessions bound less than as many rounds of one");
}

#[test]
fn a_change_of_the_machine_is_named_once() {
    let (_, view) = agrees(&at_times(12, None, Some(6)));
    let found = &view.answer;
    let sentence = found.confidence.split("The machine changed at ").nth(1).expect("a change");
    assert!(sentence.starts_with("round 7: ") && sentence.contains(" (all contenders) fell from "), "{sentence}");
    assert!(
        found.confidence.contains("Measured in one session (60 s), in 2 states of the machine"),
        "{}",
        found.confidence
    );
    assert_eq!(found.confidence.matches("The machine changed").count(), 1, "{}", found.confidence);
    assert_eq!(found.sessions.iter().map(|session| session.block).collect::<Vec<u32>>(), [0, 6]);
    assert_eq!((found.sessions[1].after_seconds, found.sessions[1].change.is_some()), (None, true));
    // A machine that did not change has no such sentence.
    let (_, steady) = viewed(&at_times(12, None, None));
    assert!(!steady.answer.confidence.contains("changed"), "{}", steady.answer.confidence);
}

#[test]
fn a_modelled_disk_is_in_every_answer() {
    let two = || works::all().into_iter().take(2).collect::<Vec<_>>();
    let device = || works::all().into_iter().filter(|work| work.name == "device").collect::<Vec<_>>();
    for late in [None, Some(0.04), Some(0.4)] {
        for blocks in [1, 3, 8] {
            let on = [("mount.noatime", "on")];
            let off = [("mount.noatime", "off")];
            for bench in [
                on_modelled(&[("ext4", &[], 1.0), ("xfs", &[], 0.7), ("btrfs", &[], 0.97)], two(), blocks, late),
                on_modelled(&[("ext4", &on, 1.0), ("ext4", &off, 1.0)], two(), blocks, late),
                on_modelled(&[("ext4", &on, 0.6), ("ext4", &off, 1.0)], two(), blocks, late),
                on_modelled(&[("ext4", &[], 1.0)], works::scaled(), blocks, late),
                on_modelled(&[("ext4", &[], 1.0)], two(), blocks, late),
                on_modelled(&[("ext4", &[], 1.0)], device(), blocks, late),
            ] {
                let (material, view) = agrees(&bench);
                let remark = "On a modelled disk (hdd-7200): figures are not those of a real disk.";
                assert!(view.answer.confidence.contains(remark), "{}", view.answer.confidence);
                lateness_agrees(&material, &view);
            }
        }
    }
}

/// Compares "The modelled disk was late in 6 of 12 passes, at most by 40 % of its own time ..." with the records.
fn lateness_agrees(material: &Material, view: &View) {
    let phases = || {
        material.trials.iter().filter(|trial| trial.status == ledger::TrialStatus::Done).flat_map(|trial| &trial.phases)
    };
    let shares: Vec<f64> = phases().filter_map(|phase| Some(phase.evidence.disk_late?.share)).collect();
    let most = shares.iter().copied().fold(0.0, f64::max);
    let late = shares.iter().filter(|share| **share > 0.1).count();
    let in_answer = view.answer.besides.iter().find(|one| one.starts_with("The modelled disk was"));
    assert_eq!(in_answer.is_some(), late > 0, "{:?}", view.answer.besides);
    let sentence = in_answer.or_else(|| view.warnings.iter().find(|one| one.starts_with("The modelled disk kept up")));
    assert_eq!(sentence.is_some(), !shares.is_empty(), "{:?}", view.warnings);
    let Some(sentence) = sentence else { return };
    let stated =
        number_after(sentence, if late > 0 { "at most by " } else { "kept up: it was late by " }).expect("a share");
    assert!((stated / 100.0 - most).abs() < 0.001, "{sentence}: {most}");
    assert!(late == 0 || sentence.contains(&format!("late in {late} of {} passes", shares.len())), "{sentence}");
}

#[test]
fn guests_are_answered_apart_from_this_machine() {
    let (kvm, emulated) = (Some(Backend::Kvm), Some(Backend::Emulation));
    for blocks in [1, 3, 8] {
        for backend in [kvm, emulated] {
            let (_, view) = agrees(&in_guests(&[("ext4", 1.0, backend), ("xfs", 0.7, backend)], blocks));
            let word = if backend == kvm { "virtual machine" } else { "emulated machine" };
            assert!(screen(&view).contains(word), "{}", screen(&view));
            let mixed = [("ext4", 1.0, None), ("xfs", 0.7, None), ("btrfs", 3.0, backend), ("jfs", 2.0, backend)];
            let (_, view) = agrees(&in_guests(&mixed, blocks));
            apart_agrees(&view);
            assert!(screen(&view).contains(word), "{}", screen(&view));
        }
    }
}

/// Each group of guests has its own best: the chosen one is at most this far behind the others of its group, and no contender of another
/// group is named as a rival.
fn apart_agrees(view: &View) {
    let backend = |name: &str| view.contenders[place(view, name)].backend;
    if let Some(take) = &view.answer.take {
        assert!(view.answer.rivals.iter().all(|rival| backend(rival) == backend(take)), "{}", view.answer.headline);
    }
    for sentence in &view.answer.besides {
        let Some((_, rest)) = sentence.split_once("machine: take ") else { continue };
        let name = rest.split(", ").next().unwrap_or_default();
        let at = place(view, name);
        assert!(view.contenders[at].backend != view.contenders[0].backend, "{sentence}");
        let ratios: Vec<f64> = counted(view).iter().filter_map(|row| row.cells[at].ratio).collect();
        let furthest = ratios.iter().copied().fold(1.0, f64::max);
        let bound = times_after(sentence, "(at most ").unwrap_or(1.03);
        assert!(furthest <= bound + 0.05, "{sentence}: {ratios:?}");
    }
}

#[test]
fn another_state_of_the_machine_is_named_between_two_runs() {
    let of = |slow_from: Option<u32>| viewed(&at_times(12, None, slow_from)).0;
    let (usual, slow) = (of(None), of(Some(0)));
    let sentence = report::view::machine_between(&usual, &slow).expect("another state");
    assert!(sentence.starts_with("The machine was in another state: "), "{sentence}");
    assert!(sentence.contains(" (all contenders) fell from "), "{sentence}");
    let back = report::view::machine_between(&slow, &usual).expect("another state");
    assert!(back.contains(" (all contenders) rose from "), "{back}");
    assert_eq!(report::view::machine_between(&usual, &of(None)), None);
}
