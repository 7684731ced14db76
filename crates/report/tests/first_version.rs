//! A run of version 0.1 is shown with the figures, samples, options and costs that that version showed.
//! Sentences are not compared, since their wording may improve.

#[path = "../../../tests/earlier.rs"]
mod earlier;

use earlier::{Earlier, LEDGERS};
use ledger::{Access, Ledger};
use report::{Material, View};
use serde_json::Value;
use std::collections::BTreeSet;

/// Fields of a run that come from the records alone.
const RUN: [&str; 10] =
    ["id", "title", "began", "seconds", "status", "ending", "origin", "version", "repeat", "machine"];
/// Fields of a contender.
const CONTENDER: [&str; 11] =
    ["index", "slot", "name", "error", "backend", "age", "asked", "found", "closing", "options", "axes"];
/// Fields of an operation.
const OPERATION: [&str; 7] = ["operation", "title", "cache", "phases", "unit", "until", "better"];
/// Fields of the counts in the first version.
const COUNTS: [&str; 4] = ["blocks", "done", "failed", "set_aside"];
/// Fields of a figure that are not estimates.
const FIGURE: [&str; 4] = ["median", "min", "max", "trials"];

fn shown_then(name: &str) -> Value {
    serde_json::from_slice(&earlier::bytes(&format!("{name}.json"))).expect("it is JSON")
}

fn shown_now(name: &str) -> Value {
    let earlier = Earlier::ledger(name);
    let ledger = Ledger::open(&earlier.path, Access::Read).unwrap_or_else(|error| panic!("{name}: {error}"));
    let material = Material::read(&ledger, None).unwrap_or_else(|error| panic!("{name}: {error}"));
    let view = View::of(&material).expect("the run is judged");
    serde_json::from_str(&report::export::results(&material, &view).expect("it is written")).expect("it is JSON")
}

fn only(value: &Value, names: &[&str]) -> Vec<(String, Value)> {
    names.iter().map(|name| ((*name).to_owned(), value[*name].clone())).collect()
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Every field of an answer that comes from the records, one line each, sorted.
fn facts(shown: &Value) -> Vec<String> {
    let mut lines =
        vec![format!("run {:?}", only(&shown["run"], &RUN)), format!("counts {:?}", only(&shown["counts"], &COUNTS))];
    lines.extend(["failures", "device"].map(|part| format!("{part} {}", shown[part])));
    // The order of contenders has changed since, so positions are compared as names, and lists line by line.
    let name = |place: &Value| place.as_u64().map(|at| shown["contenders"][at as usize]["name"].to_string());
    for costs in each(&shown["costs"]) {
        for cost in each(&costs["contenders"]) {
            let mut rest = cost.clone();
            rest["contender"] = Value::Null;
            // Rows without a figure are left out since.
            if rest.as_object().is_some_and(|figures| figures.values().all(Value::is_null)) {
                continue;
            }
            lines.push(format!("costs {} {:?} {rest}", costs["workload"], name(&cost["contender"])));
        }
    }
    for axis in each(&shown["axes"]) {
        // Values without a natural order follow the contenders.
        let mut values: Vec<String> = each(&axis["values"]).map(Value::to_string).collect();
        if axis["ordered"] == false {
            values.sort_unstable();
        }
        lines.push(format!("axis {:?} {values:?}", only(axis, &["name", "ordered"])));
        for group in each(&axis["groups"]) {
            let mut members: Vec<Option<String>> = each(&group["members"]).map(name).collect();
            members.sort_unstable();
            lines.push(format!("group {} {} {members:?}", axis["name"], group["name"]));
        }
    }
    lines.extend(each(&shown["run"]["ceiling"]).map(|pair| format!("ceiling {pair}")));
    lines.extend(each(&shown["contenders"]).map(|contender| format!("{:?}", only(contender, &CONTENDER))));
    for workload in each(&shown["workloads"]) {
        lines.push(format!("{:?}", only(workload, &["name", "title", "scale", "settings"])));
        for operation in each(&workload["operations"]) {
            lines.push(format!("{:?}", only(operation, &OPERATION)));
            for result in each(&operation["results"]) {
                let figures = ["figure", "returned", "cpu"].map(|figure| only(&result[figure], &FIGURE));
                let rest = only(result, &["contender_name", "samples", "latency", "series"]);
                lines.push(format!("{} {figures:?} {rest:?}", operation["operation"]));
            }
        }
    }
    lines.sort();
    lines
}

/// Small sizes are written like all others since.
fn units(then: &str) -> String {
    let digits = |number: u8| [format!("{number} bytes\\\""), format!("{number} bytes\"")];
    let units = (0..10).flat_map(digits).map(|old| (old.replace("bytes", "B"), old));
    let whole = ["KiB", "MiB", "GiB", "TiB"].map(|unit| (format!(" {unit}"), format!(".0 {unit}")));
    units.chain(whole).fold(then.to_owned(), |text, (new, old)| text.replace(&old, &new))
}

#[test]
fn every_run_of_the_first_version_is_shown_as_it_was() {
    for name in LEDGERS {
        let (then, now) = (facts(&shown_then(name)), facts(&shown_now(name)));
        // Merged shards are repeated as a whole, no longer as the first of them.
        let whole = |line: String| match name {
            "merged" => line.replace(" --shard 1/2", "").replace("put together from", "merged from"),
            _ => line,
        };
        let then: Vec<String> = then.iter().map(|line| whole(units(line))).collect();
        assert!(then.len() > 10, "{name} has little to show");
        for (then, now) in then.iter().zip(&now) {
            assert_eq!(now, then, "{name}");
        }
        assert_eq!(now.len(), then.len(), "{name}");
    }
}

#[test]
fn all_of_the_plan_of_the_first_version_is_still_shown() {
    let plan =
        |shown: Value| each(&shown["run"]["plan"]).map(|value| units(&value.to_string())).collect::<BTreeSet<_>>();
    for name in LEDGERS {
        let (then, now) = (plan(shown_then(name)), plan(shown_now(name)));
        let lost: Vec<&String> = then.difference(&now).collect();
        assert!(lost.is_empty(), "{name}: what later versions added may stand beside it: {lost:?}");
    }
}
