//! Workloads with real programs, each run once in small on ext4: every phase has a figure, and all their checks pass.

mod support;

use prerequisites::needs;
use support::Place;

/// Runs a workload once with these settings.
fn once(name: &str, settings: &str) {
    let place = Place::new();
    let settings: Vec<String> = settings.split_whitespace().map(|one| format!("--set {one}")).collect();
    let line = format!(
        "run {name} --fs ext4 --image 2GiB --scratch memory --samples 1 --seed 7 --no-twin --plain --no-report {}",
        settings.join(" ")
    );
    let run = place.bakeoff(&line).well();
    let shown: serde_json::Value = serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON");
    assert_eq!(shown["failures"].as_array().map(Vec::len), Some(0), "{}{}", shown["failures"], run.err);
    let operations = shown["workloads"][0]["operations"].as_array().expect("operations");
    assert!(operations.len() >= 2, "{operations:?}");
    for operation in operations {
        let figure = &operation["results"][0]["figure"]["median"];
        assert!(figure.as_f64().is_some_and(|value| value > 0.0), "{}: {figure}", operation["operation"]);
    }
}

#[test]
fn a_history_is_cloned_searched_and_packed() {
    needs!(root, git);
    once("git", "files=200 commits=60 looks=2");
}

#[test]
fn a_source_tree_is_unpacked_searched_and_removed() {
    needs!(root);
    once("source-tree", "files=300");
}

#[test]
fn a_project_is_built_and_built_again() {
    needs!(root, gcc, make);
    once("compile", "units=20");
}

#[test]
fn a_tree_is_mirrored_packed_and_restored() {
    needs!(root, rsync, zstd);
    once("backup", "files=300");
}

#[test]
fn a_database_in_a_file_is_filled_changed_and_vacuumed() {
    needs!(root, sqlite);
    once("sqlite", "inserts=40 rows=5000 updates=30 reads=200");
}

#[test]
fn large_files_are_written_read_and_edited() {
    needs!(root);
    once("media", "size=16MiB film=8MiB jumps=20 edits=10 time=200ms pace=30");
}

#[test]
fn keys_are_filled_overwritten_and_read() {
    needs!(root, rocksdb);
    once("rocksdb", "keys=20000 reads=2000 syncs=100");
}

#[test]
fn a_server_of_databases_commits() {
    needs!(root, postgres);
    once("postgres", "rows-scale=1 amount=-t20 reads=-t50");
}

#[test]
fn a_mail_server_delivers() {
    needs!(root, postal, postfix);
    once("postal", "seconds=2");
}
