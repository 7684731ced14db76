//! The help: short for common verbs, complete by topic, one clear error for unknown words.

mod support;

use support::Place;

fn text(place: &Place, words: &str) -> String {
    place.shell(&format!("COLUMNS=80 $BAKEOFF {words}")).well().out
}

/// `--image` of `      --image <SIZE>  Size of ...`.
fn options(text: &str) -> Vec<&str> {
    let first = |line: &'_ str| {
        line.trim_start().strip_prefix("--").map(|rest| rest.find([' ', '=', '[']).unwrap_or(rest.len()))
    };
    let lines = text.lines().filter(|line| line.starts_with("      --"));
    lines.filter_map(|line| first(line).map(|length| &line.trim_start()[..length + 2])).collect()
}

#[test]
fn the_help_of_run_fits_two_screens_and_names_its_topics() {
    let place = Place::new();
    for verb in ["run", "plan"] {
        let short = text(&place, &format!("{verb} --help"));
        assert!(short.lines().count() <= 48, "{} lines:\n{short}", short.lines().count());
        assert!(short.lines().all(|line| line.chars().count() <= 80), "{short}");
        let last: Vec<&str> = short.lines().rev().take(2).collect();
        assert!(last[1].contains(&format!("bakeoff help {verb} TOPIC")), "{short}");
        assert!(last[0].contains("places, contenders, guests, work, rounds, programs, output, all"), "{short}");
        assert_eq!(short, text(&place, &format!("{verb} -h")));
        assert_eq!(short, text(&place, &format!("help {verb}")));
    }
}

#[test]
fn every_option_of_run_is_in_the_help_of_one_topic_and_in_that_of_all() {
    let place = Place::new();
    let all = text(&place, "help run all");
    let mut by_topic = Vec::new();
    for topic in ["places", "contenders", "work", "rounds", "guests", "programs", "output"] {
        let one = text(&place, &format!("help run {topic}"));
        assert_eq!(one, text(&place, &format!("help {topic}")));
        let its: Vec<String> = options(&one).into_iter().map(str::to_owned).collect();
        assert!(!its.is_empty(), "{topic}: {one}");
        by_topic.extend(its);
    }
    by_topic.sort();
    let mut known: Vec<&str> = options(&all).into_iter().filter(|option| *option != "--ledger").collect();
    known.sort_unstable();
    assert_eq!(by_topic, known);
    for option in ["--turns", "--kernel", "--copy-in", "--fs", "--mix"] {
        assert!(known.contains(&option), "{option} of {known:?}");
    }
    assert!(text(&place, "help plan rounds").contains("--steady"));
    assert!(text(&place, "help submit job").contains("--slurm"));
}

#[test]
fn help_of_verbs_without_topics_is_their_help() {
    let place = Place::new();
    assert_eq!(text(&place, "help"), text(&place, "--help"));
    assert_eq!(text(&place, "help show"), text(&place, "show --help"));
    assert_eq!(text(&place, "help show all"), text(&place, "show --help"));
}

#[test]
fn unknown_verbs_and_topics_bring_the_nearest_one() {
    let place = Place::new();
    for (words, expected) in [
        ("help plces", &["plces", "did you mean `places`?"]),
        ("help shwo", &["shwo", "did you mean `show`?"]),
        ("help qestions", &["qestions", "did you mean `questions`?"]),
        ("help run ruonds", &["ruonds", "did you mean `rounds`?"]),
        ("help show rounds", &["`bakeoff show` has no topics", "`bakeoff help show`"]),
    ] {
        let output = place.bakeoff(words);
        assert_eq!(output.status, Some(2), "{output:#?}");
        assert_eq!(output.err.lines().count(), 1, "{output:#?}");
        assert!(output.out.is_empty() && expected.iter().all(|word| output.err.contains(word)), "{output:#?}");
    }
}

#[test]
fn completions_and_manual_pages_have_what_the_short_help_leaves_out() {
    let place = Place::new();
    place.bakeoff("manual --folder pages").well();
    for name in ["bakeoff.bash", "bakeoff-run.1", "_bakeoff"] {
        let page = std::fs::read_to_string(place.path("pages").join(name)).expect("written").replace('\\', "");
        assert!(page.contains("--no-twin") && page.contains("--copy-in"), "{name}");
    }
}

#[test]
fn examples_fit_eighty_columns() {
    let place = Place::new();
    let all = text(&place, "--help");
    let verbs = all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> =
        verbs.filter(|line| !line.starts_with("    ")).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(verbs.contains(&"powercut") && verbs.contains(&"publish"), "{verbs:?}");
    let examples = |columns: usize, verb: &str| {
        let help = place.shell(&format!("COLUMNS={columns} $BAKEOFF {verb} --help")).well().out;
        help.split_once("Examples:").map(|(_, examples)| examples.to_owned())
    };
    for verb in verbs.into_iter().chain([""]) {
        assert_eq!(examples(80, verb), examples(100, verb), "{verb}");
    }
}

#[test]
fn lists_fit_eighty_columns() {
    let place = Place::new();
    for words in ["systems", "workloads", "workloads small-files", "doctor"] {
        let list = text(&place, words);
        // A longer word has its own line.
        let wide = |line: &&str| line.chars().count() > 80 && line.trim().contains(' ');
        assert_eq!(list.lines().filter(wide).collect::<Vec<_>>(), Vec::<&str>::new(), "{words}");
    }
}
