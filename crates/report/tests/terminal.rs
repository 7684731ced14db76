//! The terminal output: folded, marked without colour, and safe against hostile labels.

mod support;

use records::TrialStatus;
use records::outcome::CommandRun;
use report::terminal::{Style, answer, show, why};
use report::{Material, View};
use support::{Size, made_up, usual};
use unicode_width::UnicodeWidthStr;

fn viewed(bench: &support::Bench) -> (Material, View) {
    let material = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
    let view = View::of(&material).expect("the run is judged");
    (material, view)
}

fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            for skipped in letters.by_ref() {
                if skipped == 'm' {
                    break;
                }
            }
        } else {
            plain.push(letter);
        }
    }
    plain
}

#[test]
fn twelve_contenders_fold_into_eighty_columns() {
    let (_, view) = viewed(&made_up(Size { contenders: 12, blocks: 3 }));
    let text = show(&view, Style::plain(80));
    let kept = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("twelve.txt");
    std::fs::write(&kept, &text).expect("the text can be looked at afterwards");
    for line in text.lines().filter(|line| !line.starts_with("Again")) {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
    }
    for contender in &view.contenders {
        let first = contender.name.split(' ').next().expect("a name has a word");
        assert!(text.contains(first), "{} is not shown", contender.name);
    }
}

#[test]
fn colour_adds_nothing_that_signs_do_not_say() {
    let (_, view) = viewed(&usual());
    let plain = show(&view, Style::plain(100));
    let kept = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("six.txt");
    std::fs::write(&kept, &plain).expect("the text can be looked at afterwards");
    let coloured = show(&view, Style { color: true, ..Style::plain(100) });
    assert_ne!(plain, coloured);
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(squeezed(&without_colour(&coloured)), squeezed(&plain));
    assert!(plain.contains('▲') && plain.contains("= "), "best and ties carry signs");
}

#[test]
fn a_terminal_without_utf8_gets_ascii_only() {
    let (_, view) = viewed(&usual());
    let text = show(&view, Style { width: 80, color: false, unicode: false });
    let strange: Vec<char> = text.chars().filter(|letter| !letter.is_ascii()).collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
fn twins_are_hidden_and_failed_contenders_are_named_with_their_reason() {
    let (_, view) = viewed(&usual());
    let text = show(&view, Style::plain(80));
    assert!(!text.contains("again\n") && !text.contains("ext4, again"), "the twin is shown");
    assert!(text.contains("install reiserfsprogs"), "the way out is not shown");
    assert!(text.contains("No space left on device"), "the failed trial's reason is not shown");
    assert!(view.noise_floor.is_some(), "the twin gives a noise floor");
}

#[test]
fn names_that_differ_in_a_value_stand_above_the_figures_with_it() {
    let (_, view) = viewed(&support::limited(4));
    let text = answer(&view, Style::plain(80));
    let scale = text.lines().find(|line| line.starts_with("TIMES SLOWER")).expect("a table");
    assert!(scale.contains("512M") && scale.contains("2G"), "{text}");
}

#[test]
fn why_lists_every_sample_and_marks_those_set_aside() {
    let (material, view) = viewed(&usual());
    let text = why(&material, &view, "small-files/create:cold/xfs", Style::plain(100)).expect("the cell is there");
    let (_, _, cell) = view.find("small-files", "create:cold", "xfs").expect("the cell is there");
    assert_eq!(cell.samples.len(), 5, "four blocks and one repetition");
    assert_eq!(text.matches("set aside: 12 % of CPU time was stolen").count(), 1, "{text}");
    assert!(text.contains("p99"), "{text}");
}

#[test]
fn resource_usage_of_programs_is_of_the_trials_behind_the_figure() {
    let (mut material, view) = viewed(&usual());
    let run = CommandRun { context_switches: 71, ..CommandRun::default() };
    for trial in &mut material.trials {
        trial.status = TrialStatus::Disturbed;
        trial.phases.iter_mut().for_each(|phase| phase.outcome.commands = vec![run.clone()]);
    }
    let text = why(&material, &view, "small-files/create:cold/xfs", Style::plain(100)).expect("the cell is there");
    assert!(text.contains("71 context switches"), "{text}");
}

#[test]
fn an_operation_needs_no_cache_state_where_there_is_only_one() {
    let (material, view) = viewed(&usual());
    let asked = |cell| why(&material, &view, cell, Style::plain(100)).expect("the cell is there");
    assert_eq!(asked("small-files/create/xfs"), asked("small-files/create:cold/xfs"));
}

#[test]
fn a_cell_that_is_not_there_is_answered_with_those_that_are() {
    let (material, view) = viewed(&usual());
    let asked = |cell| why(&material, &view, cell, Style::plain(80)).expect_err("no such cell").to_string();
    assert!(asked("tiny-files/create/xfs").contains("small-files"));
    assert!(asked("small-files/mount/xfs").contains("create:cold"));
    assert!(asked("small-files/create:cold/zfs2").contains("zfs"));
    assert!(asked("x").contains("workload/operation/contender"));
}

#[test]
fn other_costs_and_the_options_as_read_back_fit_into_eighty_columns() {
    let (_, view) = viewed(&made_up(Size { contenders: 12, blocks: 3 }));
    let text = show(&view, Style::plain(80));
    let costs = text.split("Other costs").nth(1).expect("there is such a section");
    assert!(costs.lines().filter(|line| !line.starts_with("Again")).all(|line| line.width() <= 80));
    let headings = costs.lines().find(|line| line.contains("unmount")).expect("headings");
    assert_eq!(headings.split_whitespace().count(), 9, "no two headings run together: {headings}");
    let btrfs =
        costs.lines().find(|line| line.starts_with("btrfs ") && line.contains("0.12")).expect("a line of btrfs");
    assert!(btrfs.contains(" 128 ") && btrfs.contains(" any "), "100 MiB and 28 MiB are not free: {btrfs}");
    let options = text.split("Options as requested, and as read back").nth(1).expect("there is such a section");
    let shown = options.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("mkfs -m rmapbt=0: rmapbt=0 (xfs_info)"), "{shown}");
    assert!(shown.contains("mkfs -l size=64m: not read back (xfs_info shows the log in blocks"), "{shown}");
}

#[test]
fn the_first_screen_is_an_answer_that_fits_a_terminal() {
    for (contenders, blocks) in [(2, 4), (6, 4), (12, 3)] {
        let (_, view) = viewed(&made_up(Size { contenders, blocks }));
        let text = answer(&view, Style::plain(80));
        let kept = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("answer-{contenders}.txt"));
        std::fs::write(kept, &text).expect("the text can be looked at afterwards");
        assert!(text.starts_with(&format!("Take {}: ", view.answer.take.as_deref().expect("a choice"))), "{text}");
        let sentences = text.split("\n\n").next().expect("the sentences come first");
        assert!(sentences.lines().count() <= 13, "{contenders} contenders, five workloads: {sentences}");
        assert!(text.lines().count() <= 40, "{} lines: {text}", text.lines().count());
        for line in text.lines() {
            assert!(line.width() <= 80, "{} columns: {line}", line.width());
        }
        for words in ["Confidence ", "TIMES SLOWER", "show"] {
            assert!(text.contains(words), "`{words}` is missing: {text}");
        }
        let full = show(&view, Style::plain(80));
        let end = full.rfind(sentences.lines().next().expect("a headline")).expect("it is repeated at the end");
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = squeezed(&full[end..]);
        for output in
            view.answer.workloads.iter().map(|one| &one.text).chain(&view.answer.besides).chain(&view.answer.open)
        {
            assert!(end.contains(&squeezed(output)), "all of it: `{output}` is missing: {end}");
        }
    }
}

#[test]
fn the_first_screen_needs_no_colour_and_no_unicode() {
    let (_, view) = viewed(&usual());
    let ascii = answer(&view, Style { unicode: false, ..Style::plain(80) });
    assert!(ascii.is_ascii(), "{ascii}");
    let plain = answer(&view, Style::plain(80));
    let coloured = answer(&view, Style { color: true, ..Style::plain(80) });
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(squeezed(&without_colour(&coloured)), squeezed(&plain));
}

#[test]
fn a_variant_after_which_a_crash_may_destroy_data_is_not_the_one_to_take() {
    let (_, view) = viewed(&support::weaker_in_place(4));
    let of =
        |name: &str| view.variants.iter().find(|one| one.name == name).expect("it did the work").take.clone().unwrap();
    let (ext4, btrfs) = (of("ext4"), of("btrfs"));
    assert!(!ext4.contains("take processes=8") && ext4.contains("processes=8 ! "), "{ext4}");
    assert!(ext4.ends_with("but a crash may destroy data."), "{ext4}");
    assert!(btrfs.contains("take processes=8:") && !btrfs.contains('!'), "{btrfs}");
    let warned = view.warnings.join(" ");
    let output = "In small-files-parallel with processes=8 a crash may destroy data that is written in place: on ext4.";
    assert!(warned.contains(output), "{warned}");
}

#[test]
fn settings_of_one_workload_are_distinguishable_in_the_table() {
    let (_, view) = viewed(&support::filled_and_scaled(4));
    let text = answer(&view, Style::plain(80));
    for processes in [1, 2, 4, 8] {
        assert!(text.contains(&format!("processes {processes}")), "{processes}: {text}");
    }
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
}

#[test]
fn the_only_one_that_keeps_data_is_taken_and_the_faster_one_named() {
    let (_, view) = viewed(&support::one_that_keeps_data(4));
    let text = answer(&view, Style::plain(80));
    assert!(text.starts_with("Take ext4: no other contender keeps data as safely.\n"), "{text}");
    assert!(text.contains("Less safe but faster: ext2, up to 1."), "{text}");
}

#[test]
fn variants_of_the_work_are_compared_within_each_contender() {
    let (_, view) = viewed(&support::filled_and_scaled(4));
    assert!(!view.variants.is_empty(), "the work was done with several values of an option");
    for one in &view.variants {
        assert!(!one.sentences.is_empty(), "{one:?}");
        let sentence = one.sentences.join(" ");
        assert!(sentence.contains('='), "variants are named by what differs: {sentence}");
        let take = one.take.as_ref().expect("four blocks allow a choice");
        assert!(take.starts_with(&format!("On {} take ", one.name)), "{take}");
    }
}

/// The field `take` for programs names the same contender as the sentence, whatever the verdict is.
#[test]
fn the_contender_to_take_is_the_one_that_its_sentence_names() {
    let mut taken = [0, 0];
    let few = |blocks| made_up(Size { contenders: 2, blocks });
    let benches = [few(1), few(3), few(8), usual(), support::one_that_keeps_data(3), support::limited(3)];
    for bench in benches {
        let answer = viewed(&bench).1.answer;
        match &answer.take {
            Some(take) => assert!(answer.headline.contains(&format!("Take {take}")), "{take}: {}", answer.headline),
            None => assert!(answer.headline.starts_with("So far "), "{}", answer.headline),
        }
        assert!(!answer.headline.contains("never"), "{}", answer.headline);
        taken[usize::from(answer.take.is_some())] += 1;
        for line in &answer.workloads {
            // A contender that keeps data less safely than others may lead, but is not taken.
            match &line.take {
                Some(take) => assert!(line.text.contains(take) && !line.text.contains("can't tell yet"), "{line:?}"),
                None => assert!(!line.text.contains("take "), "{line:?}"),
            }
        }
    }
    assert!(taken.iter().all(|count| *count > 0), "verdicts of both kinds: {taken:?}");
}
