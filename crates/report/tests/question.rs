//! The question of a run with one filesystem: the headline answers it, and its table agrees.

mod support;

use report::Material;
use report::terminal::{Style, answer};
use report::view::View;
use support::{Bench, on_axes, on_axes_where, one_that_keeps_data, viewed, works};

fn view(bench: &Bench) -> View {
    viewed(bench).1
}

/// Ratios of the row of this title, in the order of the contenders.
fn ratios(view: &View, title: &str) -> Vec<f64> {
    let row = view.workloads.iter().flat_map(|workload| &workload.rows).find(|row| row.title == title);
    row.expect("the row").cells.iter().filter_map(|cell| cell.ratio).collect()
}

fn small_files() -> Vec<ledger::WorkRecord> {
    works::all().into_iter().skip(1).take(1).collect()
}

#[test]
fn ages_of_one_filesystem_are_compared_with_each_other() {
    let places: [(&[(&str, &str)], f64); 2] = [(&[], 1.0), (&[("age", "old"), ("fill", "60%")], 0.6)];
    let view = view(&on_axes(&places, small_files(), 8));
    let headline = &view.answer.headline;
    assert!(headline.starts_with("ext4: changed between fresh and old 60%: "), "{headline}");
    assert!(headline.contains("slower when old 60% than when fresh"), "{headline}");
    assert_eq!(view.answer.take, None, "an age is not chosen");
    assert!(view.answer.comparisons.0 > 0);
    let create = ratios(&view, "Create");
    assert!(create[0] == 1.0 && create[1] > 1.4, "{create:?}");
}

#[test]
fn an_option_that_changes_nothing_is_left_at_its_default() {
    let places: [(&[(&str, &str)], f64); 2] = [(&[("mount.noatime", "on")], 1.0), (&[("mount.noatime", "off")], 1.0)];
    let view = view(&on_axes(&places, small_files(), 8));
    let headline = &view.answer.headline;
    assert!(headline.starts_with("mount.noatime: no difference "), "{headline}");
    assert!(headline.ends_with("leave the default (off)."), "{headline}");
    assert_eq!(view.answer.take.as_deref(), Some("ext4 noatime=off"));
    let bound = view.answer.at_most.expect("eight rounds bound it");
    assert!((1.0..1.3).contains(&bound), "{bound}");
    assert!(view.answer.workloads.is_empty(), "no line of a workload takes another one");
}

#[test]
fn a_default_that_is_named_so_is_named_once() {
    let places: [(&[(&str, &str)], f64); 2] =
        [(&[("mkfs.log_size", "default")], 1.0), (&[("mkfs.log_size", "256m")], 1.0)];
    let headline = view(&on_axes(&places, small_files(), 8)).answer.headline;
    assert!(headline.starts_with("mkfs.log_size: ") && headline.ends_with("leave the default."), "{headline}");
}

#[test]
fn an_option_that_is_worth_it_is_taken() {
    let places: [(&[(&str, &str)], f64); 2] = [(&[("mount.noatime", "on")], 1.5), (&[("mount.noatime", "off")], 1.0)];
    let view = view(&on_axes(&places, small_files(), 8));
    assert!(view.answer.headline.starts_with("Take ext4 noatime=on: "), "{}", view.answer.headline);
    assert!(view.answer.besides[0].starts_with("mount.noatime matters: off is 1."), "{:?}", view.answer.besides);
}

#[test]
fn layers_have_their_price_on_each_filesystem() {
    let places: [(&[(&str, &str)], f64); 3] =
        [(&[("stack", "none")], 1.0), (&[("stack", "luks")], 0.5), (&[("stack", "lvm")], 1.0)];
    let answer = view(&on_axes(&places, small_files(), 8)).answer;
    assert!(answer.headline.starts_with("lvm costs ext4 1.0"), "{}", answer.headline);
    assert!(answer.headline.ends_with(" luks costs ext4 2.0x in \"All steps\"."), "{}", answer.headline);
    assert_eq!(
        (answer.take, answer.besides.iter().any(|one| one.contains("costs"))),
        (None, false),
        "no layer is taken"
    );
    let without: [(&[(&str, &str)], f64); 2] = [(&[("stack", "lvm")], 1.0), (&[("stack", "luks")], 0.5)];
    let besides = view(&on_axes(&without, small_files(), 8)).answer.besides;
    assert!(besides[0].starts_with("stack matters: luks is "), "{besides:?}");
}

#[test]
fn the_price_of_a_layer_is_judged_against_the_bare_disk_alone() {
    // Which of two is the best is open; that the third one is slower than the bare disk is not.
    let places: [(&[(&str, &str)], f64); 3] =
        [(&[("stack", "none")], 1.0), (&[("stack", "luks")], 0.5), (&[("stack", "lvm")], 1.03)];
    let headline = view(&on_axes(&places, small_files(), 4)).answer.headline;
    assert!(headline.starts_with("lvm costs ext4 nothing in"), "{headline}");
    assert!(headline.ends_with(" luks costs ext4 2.0x in \"All steps\"."), "{headline}");
    let slower: [(&[(&str, &str)], f64); 2] = [(&[("stack", "none")], 1.0), (&[("stack", "lvm")], 0.98)];
    let headline = view(&on_axes(&slower, small_files(), 4)).answer.headline;
    assert!(headline.starts_with("lvm costs ext4 at most 1."), "{headline}");
}

#[test]
fn a_difference_in_one_step_does_not_contradict_the_sum() {
    let places: [(&[(&str, &str)], f64); 2] = [(&[("mount.noatime", "on")], 1.0), (&[("mount.noatime", "off")], 1.0)];
    let brief = |trial: &mut ledger::TrialRecord| {
        let slower = if trial.contender == 1 { 3 } else { 1 };
        let deletes = trial.phases.iter_mut().filter(|phase| phase.name == "delete");
        for outcome in deletes.map(|phase| &mut phase.outcome) {
            outcome.returned_ns /= 1_000;
            outcome.returned_ns *= slower;
            outcome.durable_ns = Some(outcome.returned_ns);
        }
    };
    let view = view(&on_axes_where(&places, small_files(), 8, &brief));
    let headline = &view.answer.headline;
    assert!(headline.starts_with("mount.noatime: no difference "), "{headline}");
    let besides = &view.answer.besides[0];
    assert!(besides.starts_with("In single steps mount.noatime matters: off is 3"), "{besides}");
}

#[test]
fn levels_of_the_work_are_followed_from_the_lowest_on() {
    let view = view(&on_axes(&[(&[], 1.0)], works::scaled(), 8));
    let headline = &view.answer.headline;
    assert!(headline.starts_with("ext4: changed between processes=1 and processes=8: "), "{headline}");
    assert!(headline.contains("x faster at processes=8 than at processes=1, from processes=2 on"), "{headline}");
    let one = &view.variants[0];
    assert_eq!(one.levels, ["processes=1", "processes=2", "processes=4", "processes=8"]);
    let screen = answer(&view, Style::plain(80));
    let table = screen.split("TIMES SLOWER THAN AT processes=1").nth(1).expect("a table of the levels");
    for row in &one.rows {
        let times = row.points[3].expect("it was measured").times;
        assert!(times < 0.5 && table.contains(&judge::factor(times)), "{times} in {table}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
}

#[test]
fn a_contender_alone_is_answered_with_its_figures() {
    let (material, view) = viewed(&on_axes(&[(&[], 1.0)], small_files(), 3));
    let headline = &view.answer.headline;
    assert!(headline.starts_with("ext4 alone: All steps ") && headline.ends_with(" more figures."), "{headline}");
    assert!(view.answer.besides.iter().any(|one| one.starts_with("reiserfs dropped out")), "{:?}", view.answer);
    let alone = material.contenders.iter().filter(|one| one.error.is_none()).cloned().collect();
    let view = View::of(&Material::new(material.run, alone, material.trials)).expect("the run is judged");
    let headline = &view.answer.headline;
    assert!(headline.contains(" more figures. To compare, name others"), "{headline}");
}

#[test]
fn a_device_alone_is_answered_with_what_it_reads() {
    let device = works::all().into_iter().filter(|work| work.name == "device").collect();
    let view = view(&on_axes(&[(&[], 1.0)], device, 3));
    let headline = &view.answer.headline;
    assert!(headline.starts_with("The device reads ") && headline.contains(" in order. "), "{headline}");
}

#[test]
fn every_contender_is_held_against_the_one_in_use() {
    let places: [(&[(&str, &str)], f64); 3] =
        [(&[("scheduler", "none")], 1.0), (&[("scheduler", "bfq")], 1.6), (&[("scheduler", "kyber")], 1.0)];
    let mut view = view(&on_axes(&places, small_files(), 8));
    view.hold_against("ext4+none").expect("it has figures");
    let headline = &view.answer.headline;
    assert!(headline.starts_with("Switch from ext4+none to ext4+bfq: faster 1."), "{headline}");
    assert_eq!(view.answer.take.as_deref(), Some("ext4+bfq"));
    let against = view.against.as_ref().expect("it was asked for");
    assert_eq!(
        against.others.iter().map(|&place| view.contenders[place].name.as_str()).collect::<Vec<_>>()[0],
        "ext4+bfq"
    );
    let screen = answer(&view, Style::plain(80));
    let table = screen.split("TIMES SLOWER THAN ext4+none").nth(1).expect("a table against it");
    for row in &against.rows {
        let times = row.points[0].expect("it was measured").times;
        assert!(times < 0.8 && table.contains(&judge::factor(times)), "{times} in {table}");
    }
    view.hold_against("ext4+bfq").expect("it has figures");
    assert!(view.answer.headline.starts_with("Stay with ext4+bfq: "), "{}", view.answer.headline);
    assert_eq!(view.answer.take.as_deref(), Some("ext4+bfq"));
    let refused = view.hold_against("xfs").expect_err("it did not take part").to_string();
    assert!(refused.contains("xfs") && refused.contains("ext4+none, "), "{refused}");
}

#[test]
fn a_filesystem_that_keeps_data_less_safely_is_no_reason_to_switch() {
    let mut view = view(&one_that_keeps_data(8));
    view.hold_against("ext4").expect("it has figures");
    let headline = &view.answer.headline;
    assert!(headline.starts_with("Stay with ext4: ext2 is faster ") && headline.contains("may lose"), "{headline}");
    assert_eq!(view.answer.take.as_deref(), Some("ext4"));
}
