//! Plans, workloads and option sets with mutated parts are accepted or refused with an error, never with a panic.

#[path = "../../../tests/mutate.rs"]
mod mutate;

use std::collections::BTreeMap;
use std::path::Path;
use workload::{Plan, Workload, parse_aliases, parse_contenders};

fn files(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut paths: Vec<_> =
        std::fs::read_dir(&folder).expect("the folder").flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("the file")).collect()
}

fn temporary() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn workloads_with_parts_changed_are_read_or_refused() {
    mutate::fuzz("workloads", &files("workloads"), 1200, temporary(), |bytes| {
        let text = String::from_utf8_lossy(bytes);
        match Workload::parse(&text, "changed.toml") {
            Ok(workload) => {
                for scale in &workload.scales {
                    workload.compile(scale, &BTreeMap::new(), 1).expect("what was read can be compiled");
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
}

#[test]
fn plans_and_option_sets_with_parts_changed_are_read_or_refused() {
    let mut samples = files("plans");
    samples.extend(files("published"));
    mutate::fuzz("plans", &samples, 3000, temporary(), |bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(plan) = Plan::parse(&text, "changed.toml") {
            let axes = plan.axes.product(plan.contenders.values().cloned().collect(), &BTreeMap::new());
            assert!(axes.is_err() || axes.is_ok_and(|made| made.contenders.len() <= workload::product::PRODUCT_LIMIT));
        }
        drop(parse_contenders(&text, "changed.toml"));
        drop(parse_aliases(&text, "changed.toml"));
    });
}
