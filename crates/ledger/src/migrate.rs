//! Converts documents of earlier versions to today's form: missing fields are supplied here, by name, and nowhere else.
//! In: a file of an earlier version, or the JSON of one part of an exported run. Out: the same in today's form.
//! Version 1 kept plans, machines, contenders and findings as untyped JSON.

use crate::fields::{self, Fault};
use records::TWIN;
use rusqlite::{Transaction, params};
use serde_json::{Map, Value, json};

/// Version 2 reads the untyped JSON of version 1 as records: missing fields are supplied.
pub fn typed_documents(transaction: &Transaction) -> Result<(), Fault> {
    rewrite(transaction, ("runs", "id", "new_run"), new_run)?;
    rewrite(transaction, ("contenders", "run", "asked"), asked)?;
    rewrite(transaction, ("trials", "run", "found"), found)?;
    rewrite(transaction, ("trials", "run", "closing"), closing)?;
    let run = "(SELECT run FROM trials WHERE trials.id = phases.trial)";
    rewrite(transaction, ("phases", run, "evidence"), evidence)
}

/// Version 4 keeps how cold phases were started, and passes that were repeated at once.
pub fn cold_starts(transaction: &Transaction) -> Result<(), Fault> {
    rewrite(transaction, ("runs", "id", "new_run"), cold_run)?;
    let run = "(SELECT run FROM trials WHERE trials.id = phases.trial)";
    rewrite(transaction, ("phases", run, "evidence"), cold_evidence)
}

/// Changes the JSON of one column in every row of a table; `run` is the SQL expression for the run.
fn rewrite(
    transaction: &Transaction,
    (table, run, column): (&str, &str, &str),
    change: fn(Value) -> Value,
) -> Result<(), Fault> {
    let mut update = transaction.prepare(&format!("UPDATE {table} SET {column} = ?2 WHERE rowid = ?1"))?;
    let mut select = transaction.prepare(&format!("SELECT rowid, {run}, {column} FROM {table}"))?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (number, run, text): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let place = format!("run {run}, row {number} of {table}");
        let before = fields::from_json(column, &text).map_err(|fault| fault.within(&place))?;
        update.execute(params![number, change(before).to_string()])?;
    }
    Ok(())
}

/// The settings a run was begun with.
pub fn new_run(mut new: Value) -> Value {
    supply(&mut new, "works", json!([]));
    let Some(fields) = new.as_object_mut() else { return new };
    let mut taken = |name: &str| fields.remove(name).unwrap_or_default();
    let (mut plan, machine) = (taken("plan"), taken("machine"));
    let merged = plan.get_mut("shard").and_then(Value::as_object_mut).and_then(merged);
    fields.insert("merged".into(), merged.unwrap_or_default());
    fields.insert("plan".into(), if is_empty(&plan) { Value::Null } else { whole_plan(plan) });
    // In a run on several machines each was kept under the name of its shard; the shard itself has it as well.
    fields.insert("machine".into(), if is_of_shards(&machine) { Value::Null } else { whole_machine(machine) });
    new
}

fn is_of_shards(machine: &Value) -> bool {
    machine.as_object().is_some_and(|fields| fields.keys().any(|name| name.starts_with("shard ")))
}

/// The shards that a run was merged from, taken out of its plan.
fn merged(shard: &mut Map<String, Value>) -> Option<Value> {
    let mut parts = shard.remove("merged")?;
    for part in parts.as_array_mut()?.iter_mut().filter_map(Value::as_object_mut) {
        let machine = part.remove("machine").unwrap_or_default();
        part.insert("machine".into(), whole_machine(machine));
    }
    Some(json!({ "of": shard.get("of"), "parts": parts }))
}

fn whole_plan(mut plan: Value) -> Value {
    for (name, absent) in
        [("ages", Value::Null), ("filesystems", json!([])), ("notes", json!([])), ("shard", Value::Null)]
    {
        supply(&mut plan, name, absent);
    }
    // The permission to erase was kept with the device; the device's identity was not recorded.
    let word =
        plan.pointer_mut("/place/device").and_then(Value::as_object_mut).and_then(|device| device.remove("erase"));
    let words: Vec<Value> = word.into_iter().filter(Value::is_string).collect();
    supply(&mut plan, "terms", json!({ "erase": words, "promised": [] }));
    within(&mut plan, "shard", |shard| {
        if shard.get("index").is_none() {
            *shard = Value::Null;
        }
    });
    within(&mut plan, "sampling", |sampling| supply(sampling, "steady", json!(false)));
    each(&mut plan, "contenders", |entry| {
        supply(entry, "works", json!([]));
        within(entry, "asked", with_base);
    });
    each(&mut plan, "works", |work| {
        within(work, "compiled", |compiled| {
            within(compiled, "estimate", estimate);
            // 0: the program's own limit, the only one then.
            within(compiled, "program", |program| {
                each(program, "phases", |phase| supply(phase, "time_limit", json!(0)))
            });
        });
    });
    plan
}

fn estimate(estimate: &mut Value) {
    supply(estimate, "needs_aged", json!(false));
    each(estimate, "phases", |phase| {
        supply(phase, "present_files", json!(0));
        supply(phase, "present_bytes", json!(0));
    });
}

/// A machine; null if nothing was kept of it.
fn whole_machine(mut machine: Value) -> Value {
    if is_empty(&machine) {
        return Value::Null;
    }
    supply(&mut machine, "tools", json!({}));
    supply(&mut machine, "device", json!([]));
    within(&mut machine, "virtualisation", |facts| supply(facts, "container", Value::Null));
    machine
}

/// The requested contender; null for imported results of other programs.
pub fn asked(asked: Value) -> Value {
    if asked.get("filesystem").is_none() {
        return Value::Null;
    }
    let mut asked = asked;
    with_base(&mut asked);
    asked
}

/// Adds a contender's base. Version 1 kept it only in the label, followed by the value on each axis.
fn with_base(asked: &mut Value) {
    let text = |name: &str| asked.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(label) = text("label") else { return };
    let mut base = label.strip_suffix(TWIN).unwrap_or(&label).to_owned();
    let scheduler = text("scheduler").filter(|name| base.ends_with(&format!("+{name}")));
    let Some(axes) = asked.get_mut("axes").and_then(Value::as_object_mut) else { return };
    // A name could include a scheduler without any axis.
    if let Some(name) = scheduler {
        axes.insert("scheduler".into(), name.into());
    }
    axes.retain(|name, value| {
        let value = value.as_str().unwrap_or_default();
        let mark = match name.split_once('.') {
            Some((_, setting)) => format!(" {setting}={value}"),
            None if name == "scheduler" => format!("+{value}"),
            None if name == "kernel" => format!(" on {value}"),
            None => format!(" {value}"),
        };
        let stood = base.contains(&mark);
        base = base.replacen(&mark, "", 1);
        // One kernel for all contenders was kept as an axis, although it was none.
        stood || name != "kernel"
    });
    supply(asked, "base", Value::String(base));
}

/// The state found after mounting.
pub fn found(mut found: Value) -> Value {
    if is_empty(&found) {
        return Value::Null;
    }
    supply(&mut found, "options", json!([]));
    not_recorded(&mut found, &["aged", "backend", "kernel", "boot_seconds"]);
    within(&mut found, "device", |device| not_recorded(device, &["layout"]));
    each(&mut found, "beneath", |device| not_recorded(device, &["layout"]));
    found
}

/// The state found after unmounting; damage follows from the result of the check.
pub fn closing(mut closing: Value) -> Value {
    if is_empty(&closing) {
        return Value::Null;
    }
    if let Some(fields) = closing.as_object_mut() {
        fields.remove("damage");
    }
    not_recorded(&mut closing, &["damage", "written_bytes", "read_bytes"]);
    supply(&mut closing, "axes", json!([]));
    closing
}

/// Evidence of a pass.
pub fn evidence(mut evidence: Value) -> Value {
    not_recorded(&mut evidence, &["taken_bytes", "taken_inodes", "present_bytes", "steady"]);
    evidence
}

/// A run before version 4, whose cold phases all began with dropped caches.
pub fn cold_run(mut new: Value) -> Value {
    within(&mut new, "plan", |plan| {
        supply(plan, "cold", json!("drop"));
        within(plan, "sampling", |sampling| supply(sampling, "screen_first", json!(false)));
    });
    new
}

/// A pass before version 4.
pub fn cold_evidence(mut evidence: Value) -> Value {
    let fields = evidence.as_object().cloned().unwrap_or_default();
    let dropped = fields.get("dropped").is_some_and(|dropped| !dropped.is_null());
    // It is known that caches were dropped; the other observations are not.
    let start = json!({
        "way": "drop", "device_cached_bytes": null, "mounting_read_bytes": null, "image_cached_bytes": null,
        "files_looked_at": null,
    });
    supply(&mut evidence, "cold", if dropped { start } else { Value::Null });
    supply(&mut evidence, "set_aside", json!(false));
    evidence
}

/// Version 1 wrote `{}` or `null` for absent data.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// Fields that were not recorded then: their values are unknown.
fn not_recorded(object: &mut Value, names: &[&str]) {
    if object.is_object() {
        names.iter().for_each(|name| supply(object, name, Value::Null));
    }
}

/// Supplies a field that an object lacks.
fn supply(object: &mut Value, name: &str, absent: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.entry(name).or_insert(absent);
    }
}

fn within(object: &mut Value, name: &str, change: impl FnOnce(&mut Value)) {
    if let Some(field) = object.get_mut(name) {
        change(field);
    }
}

pub(crate) fn each(object: &mut Value, list: &str, mut change: impl FnMut(&mut Value)) {
    object.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().for_each(&mut change);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_version_4_cold_passes_began_by_dropping_and_others_have_no_start() {
        let evidence = cold_evidence(json!({ "dropped": true }));
        assert_eq!((&evidence["cold"]["way"], &evidence["set_aside"]), (&json!("drop"), &json!(false)));
        assert_eq!(cold_evidence(json!({ "dropped": null }))["cold"], Value::Null);
        let run = cold_run(json!({ "plan": { "sampling": {} } }));
        assert_eq!(run["plan"], json!({ "cold": "drop", "sampling": { "screen_first": false } }));
        assert_eq!(cold_run(json!({ "plan": null })), json!({ "plan": null }));
    }

    #[test]
    fn the_base_of_a_contender_is_its_label_without_its_places_on_axes() {
        let base = |label: &str, axes: Value, more: Value| {
            let mut whole = json!({ "filesystem": "ext4", "label": label, "axes": axes });
            whole.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            let whole = asked(whole);
            (whole["base"].as_str().expect("a base").to_owned(), whole["axes"].clone())
        };
        let places = json!({ "mkfs.rmapbt": "0", "age": "old", "fill": "40%", "scheduler": "bfq" });
        let twin = base("xfs rmapbt=0 old 40%+bfq (again)", places.clone(), json!({ "scheduler": "bfq" }));
        assert_eq!(twin, ("xfs".into(), places));
        let named = base("ext4-tuned+bfq", json!({}), json!({ "scheduler": "bfq" }));
        assert_eq!(named, ("ext4-tuned".into(), json!({ "scheduler": "bfq" })));
        assert_eq!(base("ext4", json!({ "kernel": "debian:6.12" }), json!({})), ("ext4".into(), json!({})));
        let kernels = json!({ "kernel": "debian:6.12" });
        assert_eq!(base("ext4 on debian:6.12", kernels.clone(), json!({})), ("ext4".into(), kernels));
    }

    #[test]
    fn the_word_that_allows_erasing_a_device_moves_to_the_terms_and_no_device_is_promised() {
        let device = |fields: Value| whole_plan(json!({ "place": { "device": fields } }));
        let plan = device(json!({ "path": "/dev/sdb", "erase": "S123" }));
        assert_eq!(plan["terms"], json!({ "erase": ["S123"], "promised": [] }));
        assert_eq!(plan["place"], json!({ "device": { "path": "/dev/sdb" } }));
        assert_eq!(device(json!({ "path": "/dev/sdb", "erase": null }))["terms"]["erase"], json!([]));
    }
}
