//! Ledgers of version 0.1 are read like today's; for unreadable ones the error names the ledger, run and field.

#[path = "../../../tests/earlier.rs"]
mod earlier;

use earlier::{Earlier, LEDGERS};
use ledger::import::import_bytes;
use ledger::{Access, Ledger, LedgerError, RunRecord, TrialStatus};
use records::{Backend, ContenderRecord, TrialRecord};

/// The run of a ledger, whole.
fn read(earlier: &Earlier) -> Result<(RunRecord, Vec<ContenderRecord>, Vec<TrialRecord>), LedgerError> {
    let ledger = Ledger::open(&earlier.path, Access::Read)?;
    let run = ledger.run(None)?;
    let (contenders, trials) = (ledger.contenders(&run.id)?, ledger.trials(&run.id)?);
    Ok((run, contenders, trials))
}

fn whole(name: &str) -> (RunRecord, Vec<ContenderRecord>, Vec<TrialRecord>) {
    read(&Earlier::ledger(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Changes a ledger by one statement.
fn change(earlier: &Earlier, statement: &str) {
    let connection = rusqlite::Connection::open(&earlier.path).expect("SQLite opens it");
    assert!(connection.execute(statement, []).expect("the statement is good") > 0, "{statement} changed nothing");
}

#[test]
fn every_ledger_of_the_first_version_is_read_and_stays_readable() {
    for name in LEDGERS {
        let earlier = Earlier::ledger(name);
        let first = read(&earlier).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read(&earlier).expect("once more"), first, "{name}");
        assert!(!first.2.is_empty(), "{name} holds trials");
    }
}

#[test]
fn the_plan_of_a_measured_run_is_read_whole() {
    let (run, contenders, trials) = whole("plain");
    let plan = run.new.plan.expect("it was measured");
    assert_eq!((plan.sampling.samples, plan.sampling.blocks), (Some(3), (3, 30)));
    assert_eq!(plan.works[0].compiled.program.phases.len(), run.new.works[0].phases.len());
    assert_eq!(contenders.iter().map(|one| one.twin_of).collect::<Vec<_>>(), [None, None, None, Some(0)]);
    assert_eq!(contenders[1].asked, Some(plan.contenders[1].asked.clone()));
    assert!(run.new.machine.expect("a machine").tools.contains_key("mkfs.xfs"));
    let btrfs = trials.iter().find(|trial| trial.contender == 2).expect("a trial");
    let found = btrfs.found.as_ref().expect("it was mounted");
    assert_eq!((found.durability.copy_on_write, found.backend), (Some(true), None::<Backend>));
    assert_eq!(btrfs.closing.as_ref().expect("it was unmounted").whole, Some(true));
}

#[test]
fn values_that_the_first_version_left_empty_are_absent() {
    let (_, _, trials) = whole("failing");
    let failed = trials.iter().find(|trial| trial.status == TrialStatus::Failed).expect("a failed trial");
    assert_eq!((&failed.found, &failed.closing), (&None, &None));
    let (run, contenders, trials) = whole("foreign");
    assert_eq!((run.new.plan, run.new.machine, &contenders[0].asked), (None, None, &None));
    assert!(trials.iter().all(|trial| trial.found.is_none()));
}

#[test]
fn shards_stand_with_the_run_that_they_were_put_together_to() {
    assert_eq!(whole("shard-2").0.new.plan.expect("a plan").shard.map(|shard| (shard.index, shard.of)), Some((1, 2)));
    let run = whole("merged").0;
    let merged = run.new.merged.expect("it was put together");
    assert_eq!((merged.of, merged.parts.len(), run.new.plan.expect("a plan").shard), (2, 2, None));
    assert_eq!(merged.parts[1].machine, run.new.machine, "both were measured on one machine");
}

#[test]
fn a_run_that_the_first_version_exported_is_imported() {
    let imported = import_bytes(&earlier::bytes("exported.json"), "run.json").expect("it is read");
    let (run, contenders, trials) = whole("directory");
    assert_eq!((imported.run.new.plan, imported.contenders, imported.trials), (run.new.plan, contenders, trials));
}

/// Changes to a ledger, each with the place and the field that the error must name.
const CHANGES: [(&str, &str, &str); 15] = [
    ("UPDATE runs SET status = 'resting'", "", "status"),
    ("UPDATE runs SET ceiling = '{}'", "", "ceiling"),
    ("UPDATE runs SET new_run = json_remove(new_run, '$.plan.sampling.blocks')", "", "new_run.plan.sampling"),
    ("UPDATE runs SET new_run = json_set(new_run, '$.plan.sampling.most', 9)", "", "new_run.plan.sampling.most"),
    ("UPDATE contenders SET asked = json_set(asked, '$.fill', 'half') WHERE number = 2", ", contender 2", "asked.fill"),
    ("UPDATE trials SET block = -1 WHERE id = 3", ", trial 2", "block"),
    (
        "UPDATE trials SET found = json_set(found, '$.mkfs_seconds', 'soon') WHERE id = 2",
        ", trial 1",
        "found.mkfs_seconds",
    ),
    ("UPDATE trials SET found = json_remove(found, '$.durability.data') WHERE id = 4", ", trial 3", "found.durability"),
    (
        "UPDATE trials SET closing = json_set(closing, '$.used.total_bytes', -4) WHERE id = 1",
        ", trial 0",
        "closing.used.total_bytes",
    ),
    ("UPDATE phases SET figure = 'beauty' WHERE trial = 5 AND name = 'create'", ", trial 4, phase create", "figure"),
    (
        "UPDATE phases SET evidence = json_set(evidence, '$.steal', 'some') WHERE trial = 2 AND name = 'delete'",
        ", trial 1, phase delete",
        "evidence.steal",
    ),
    (
        "UPDATE phases SET outcome = json_remove(outcome, '$.durable_ns') WHERE trial = 1 AND name = 'create'",
        ", trial 0, phase create",
        "outcome.durable_ns",
    ),
    (
        "UPDATE trials SET found = json_remove(found, '$.device.queue.scheduler') WHERE id = 1",
        ", trial 0",
        "found.device.queue.scheduler",
    ),
    ("UPDATE runs SET new_run = json_remove(new_run, '$.plan.sampling.samples')", "", "new_run.plan.sampling.samples"),
    ("UPDATE commands SET elapsed_ns = -7 WHERE trial = 3", ", trial 2, its commands", "elapsed_ns"),
];

#[test]
fn an_unreadable_value_is_named_with_its_ledger_run_and_field() {
    for (statement, place, field) in CHANGES {
        let earlier = Earlier::ledger("interrupted");
        let run = read(&earlier).expect("as it was written it is read").0.id;
        change(&earlier, statement);
        let error = read(&earlier).map(|_| ()).expect_err(statement).to_string();
        let expected = format!("{}: run {run}{place}: the field {field} cannot be read", earlier.path.display());
        assert!(error.contains(&expected), "{statement}: {error}");
    }
}

#[test]
fn a_failed_migration_names_the_value_and_leaves_the_ledger_unchanged() {
    let earlier = Earlier::ledger("interrupted");
    change(&earlier, "UPDATE trials SET found = 'half' WHERE id = 2");
    let before = std::fs::read(&earlier.path).expect("the file");
    let error = read(&earlier).map(|_| ()).expect_err("it is no JSON").to_string();
    assert!(error.contains("row 2 of trials: the field found cannot be read"), "{error}");
    assert_eq!(std::fs::read(&earlier.path).expect("the file"), before);
}

#[test]
fn a_run_that_cannot_be_read_leaves_the_others_readable() {
    let earlier = Earlier::ledger("plain");
    let mut ledger = Ledger::open(&earlier.path, Access::Write).expect("it opens");
    let other = import_bytes(&earlier::bytes("exported.json"), "run.json").expect("another run");
    let id = ledger.keep_imported(&other).expect("it is kept");
    drop(ledger);
    change(&earlier, &format!("UPDATE runs SET status = 'resting' WHERE id <> '{id}'"));
    let ledger = Ledger::open(&earlier.path, Access::Read).expect("it opens");
    assert_eq!(ledger.run(Some(&id)).expect("the other run").id, id);
    assert!(matches!(ledger.runs(), Err(LedgerError::Unreadable { .. })));
}
