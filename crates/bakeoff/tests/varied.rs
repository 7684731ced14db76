//! Work over several values of an option, plans split into shards, and the log: from a user's view, in a directory.

mod support;

use support::Place;

const WORK: &str = "run small-files --dir . --set small-files.some=20 --seed 11 --plain --no-report --no-twin";

/// The text without its line breaks, which depend on the lengths of names.
fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn one_workload_with_two_values_of_an_option_is_shown_over_them() {
    let place = Place::in_memory();
    place.bakeoff(&format!("{WORK} --samples 2 --set small-files.files=40,80")).well();
    let output = place.bakeoff("show --full").well();
    assert!(output.out.contains("files 40") && output.out.contains("files 80"), "{}", output.out);
    let json: serde_json::Value =
        serde_json::from_str(&place.bakeoff("show --json").well().out).expect("results as JSON");
    assert_eq!(json["workloads"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["scalings"][0]["setting"], "files");
    assert_eq!(json["scalings"][0]["values"], serde_json::json!(["40", "80"]));
    let log = std::fs::read_to_string(place.path("bakeoff.log")).expect("a log beside the ledger");
    assert!(log.contains("round 2: small-files") && log.contains("items in"), "{log}");
    place.bakeoff("show --pivot scheduler").refused(&["looking for the axis scheduler"]);
}

#[test]
fn shards_run_apart_are_one_run_when_they_are_imported() {
    let place = Place::in_memory();
    for part in ["1", "2"] {
        let words = format!("{WORK} --samples 4 --set small-files.files=40 --shard {part}/2 --ledger {part}.db");
        place.bakeoff(&words).well();
        let output = place.bakeoff(&format!("show --full --ledger {part}.db")).well();
        assert!(words_of(&output.out).contains(&format!("shard {part} of 2")), "{}", output.out);
    }
    let output = place.bakeoff("import 1.db 2.db --ledger all.db").well();
    assert!(output.out.contains("all 2 shards"), "{}", output.out);
    let output = place.bakeoff("show --full --ledger all.db").well();
    let words = words_of(&output.out);
    assert!(words.contains("4 trials in 4 rounds") && words.contains("All 2 shards were run"), "{}", output.out);
    let output = place.bakeoff("import 2.db --ledger all.db").well();
    assert!(output.out.contains("nothing new"), "{}", output.out);
}

#[test]
fn a_shard_that_leaves_something_to_chance_is_refused() {
    let place = Place::in_memory();
    let refused = |words: &str, why| drop(place.bakeoff(&format!("run small-files --dir . {words}")).refused(&[why]));
    refused("--samples 4 --shard 1/2", "--seed");
    refused("--samples 2 --seed 1 --shard 1/4", "are too few for 4 shards");
    refused("--samples 4 --seed 1 --shard 3/2", "I/N");
    refused("--budget 1m --seed 1 --shard 1/2", "--shard");
    assert!(!place.path("bakeoff.db").exists(), "nothing was begun");
}
