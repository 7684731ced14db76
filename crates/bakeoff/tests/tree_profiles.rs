//! A tree is scanned; a workload that lays out one like it is written and run.
//! In: trees made here, with hard links, holes, attributes and what cannot be read. Out: workload files, histograms, refusals.

mod support;

use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::Path;
use support::Place;

/// A tree of 400 files in 21 directories on two levels: half of 100 bytes, the others of 5,000 and more, all compressible.
fn make_tree(root: &Path) {
    for directory in 0..20u64 {
        let folder = root.join(format!("directory-{}", directory % 5)).join(format!("below-{directory}"));
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..20u64 {
            let bytes = if file % 2 == 0 { 100 } else { 5_000 + 20 * directory + file };
            std::fs::write(folder.join(format!("file-with-a-name-{file}")), vec![7; bytes as usize]).unwrap();
        }
    }
}

fn json(place: &Place, words: &str) -> Value {
    serde_json::from_str(&place.bakeoff(words).well().out).unwrap()
}

#[test]
fn the_tree_that_a_profile_lays_out_is_like_the_one_that_was_scanned() {
    let place = Place::in_memory();
    make_tree(&place.path("data"));
    let first = json(&place, "profile data --json");
    assert_eq!((&first["tree"]["files"], &first["tree"]["directories"]), (&400.into(), &26.into()));
    assert_eq!((&first["copy"]["files"], &first["copy"]["directories"]), (&400.into(), &26.into()));
    assert!(first["compressible_share"].as_f64().unwrap() > 0.9, "{first:#}");
    let distances = |of: &Value| -> Vec<f64> {
        of["distributions"].as_array().unwrap().iter().map(|one| one["distance"].as_f64().unwrap()).collect()
    };
    assert!(distances(&first).iter().all(|distance| *distance < 0.05), "{first:#}");
    // What the engine lays out is kept, and scanned like the first.
    let text = std::fs::read_to_string(place.path("data.toml")).unwrap();
    let (layout, _) = text.split_once("[[phases]]\nname = \"stat\"").unwrap();
    let kept = place.path("kept");
    let keep = format!("command = [\"cp\", \"-aT\", \"tree\", {kept:?}], unconfined = true");
    place.write(
        "layout.toml",
        &format!("{layout}[[phases]]\nname = \"keep\"\npreparation = true\nwork = {{ {keep} }}\n"),
    );
    std::fs::create_dir(place.path("srv")).unwrap();
    place.bakeoff("run layout.toml --dir srv --samples 1 --no-report --plain").well();
    let again = json(&place, "profile kept --json");
    assert_eq!(again["tree"]["files"], first["tree"]["files"]);
    assert_eq!(again["tree"]["directories"], first["tree"]["directories"]);
    for (number, laid_out) in again["distributions"].as_array().unwrap().iter().enumerate() {
        let planned = &first["distributions"][number];
        for (row, planned) in laid_out["rows"].as_array().unwrap().iter().zip(planned["rows"].as_array().unwrap()) {
            assert_eq!(row["tree_share"], planned["copy_share"], "{}", planned["least"]);
        }
    }
    place.bakeoff("plan data.toml --dir srv").well();
    place.bakeoff("run data.toml --set files=100 --set some=10 --dir srv --samples 1 --no-report --plain").well();
    let shown = place.bakeoff("show --full").well().out;
    for step in ["create", "stat", "read", "rewrite", "delete", "all steps"] {
        assert!(shown.contains(step), "{step}: {shown}");
    }
}

#[test]
fn links_and_special_files_of_a_tree_are_counted_and_laid_out_where_possible() {
    let place = Place::new();
    let data = place.path("data");
    make_tree(&data);
    for number in 0..100 {
        std::fs::hard_link(data.join("directory-0/below-0/file-with-a-name-1"), data.join(format!("link-{number}")))
            .unwrap();
    }
    symlink("/", data.join("outside")).unwrap();
    for number in 0..40 {
        std::fs::File::create(data.join(format!("sparse-{number}"))).unwrap().set_len(1 << 20).unwrap();
    }
    let found = json(&place, "profile data --json");
    assert_eq!((&found["tree"]["files"], &found["further_names"]), (&440.into(), &100.into()));
    assert_eq!((&found["sparse_files"], &found["symbolic_links"]), (&40.into(), &1.into()));
    let text = std::fs::read_to_string(place.path("data.toml")).unwrap();
    assert!(text.contains("share = { percent = 23, steps = [{ link = \".1\" }] }"), "{text}");
    assert!(
        text.contains("share = { percent = 9, steps = [\"open-read-write\", \"punch-hole\", \"close\"] }"),
        "{text}"
    );
    place.bakeoff("plan data.toml --fs ext4").well();
}

#[test]
fn limits_end_a_scan_and_the_copy_has_the_files_asked_for() {
    let place = Place::in_memory();
    make_tree(&place.path("data"));
    let output = place.bakeoff("profile data --limit 100 --files 1000 -o mine.toml").well().out;
    for wanted in ["100 files", "Its copy: 1000 files", "left out: the scan ended at --limit", "mine.toml"] {
        assert!(output.contains(wanted), "{wanted}: {output}");
    }
    place.bakeoff("profile data -o mine.toml").refused(&["mine.toml exists", "-o"]);
}

#[test]
fn a_source_without_files_is_refused_in_one_sentence() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("empty/below")).unwrap();
    place.write("file", "no trace");
    place.bakeoff("profile empty").refused(&["scanning empty: no files found (directories read: 2)"]);
    place.bakeoff("profile file").refused(&["file"]);
    place.bakeoff("profile file --json").refused(&["file is not a folder: --files,"]);
    place.bakeoff("profile missing").refused(&["missing", "No such file"]);
    place.bakeoff("profile /proc").refused(&["an interface of the kernel"]);
    place.bakeoff("profile empty --time soon").refused(&["--time soon"]);
    assert!(!place.path("empty.toml").exists());
}
