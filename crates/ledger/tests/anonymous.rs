//! Published files do not identify the machine or its owner: names are planted in every text of real runs, and none remains.

#[path = "../../../tests/earlier.rs"]
mod earlier;

use earlier::Earlier;
use ledger::anonymous::{Owner, Rule, anonymous};
use ledger::import::{Imported, document, import_bytes};
use ledger::published::{packed, unpacked};
use ledger::{Access, Ledger};
use records::custody::{Backing, Identity, PartitionIdentity, Promise};
use records::{BlockDevice, Place};
use serde_json::Value;
use std::collections::BTreeSet;

/// Planted in every text: each word is searched for in the published bytes.
const PLANTED: &str = "made on annas-kitchen.example.org by annabel (Annabel@annas-kitchen), S4PLANTED77 and nvme-Disk_77_S4PLANTED77 \
                       at /home/annabel/holiday-plans/x.img and /srv/annabels-disk, wwn-0x5000c500a1b2c3d4, \
                       6b1c2f6e-1b7a-4c55-9d3e-7a1f00c0ffee; ann";
/// Words that must not be found, in lower case.
const SECRETS: [&str; 9] = [
    "annas-kitchen",
    "example.org",
    "annabel",
    "s4planted77",
    "holiday",
    "5000c500a1b2c3d4",
    "c0ffee",
    "/srv",
    "/home",
];

fn owner() -> Owner {
    Owner { hosts: vec!["annas-kitchen.example.org".into(), "annas-kitchen".into()], users: vec!["annabel".into()] }
}

/// A real run of an earlier version, with two trials.
fn run(name: &str) -> Imported {
    let earlier = Earlier::ledger(name);
    let ledger = Ledger::open(&earlier.path, Access::Read).expect("the ledger opens");
    let run = ledger.run(None).expect("a run");
    let (contenders, trials) =
        (ledger.contenders(&run.id).expect("contenders"), ledger.trials(&run.id).expect("trials"));
    Imported { run, contenders, trials: trials.into_iter().take(2).collect() }
}

/// The same with a machine and devices of Annabel's in all record fields.
fn annabels(name: &str) -> Imported {
    let mut imported = run(name);
    if let Some(machine) = &mut imported.run.new.machine {
        machine.hostname = "annas-kitchen".into();
        machine.boot_parameters =
            "root=UUID=6b1c2f6e-1b7a-4c55-9d3e-7a1f00c0ffee owner=annabel mitigations=off quiet".into();
        machine.cgroups = vec!["0::/user.slice/user-annabel.slice".into()];
    }
    let disk = BlockDevice {
        path: "/dev/disk/by-id/nvme-Disk_77_S4PLANTED77".into(),
        serial: Some("S4PLANTED77".into()),
        wwid: Some("eui.5000c500a1b2c3d4".into()),
        by_id: vec!["nvme-Disk_77_S4PLANTED77".into()],
        model: Some("Disk 77".into()),
        backing_file: Some("/home/annabel/holiday-plans/x.img".into()),
        ..BlockDevice::default()
    };
    for found in imported.trials.iter_mut().filter_map(|trial| trial.found.as_mut()) {
        found.device = Some(disk.clone());
        found.below = vec![disk.clone()];
    }
    if let Some(plan) = &mut imported.run.new.plan {
        plan.terms.erase = vec!["S4PLANTED77".into()];
        plan.terms.promised = vec![promise(&disk)];
        plan.filesystems = vec!["annabels-disk/own.toml".into()];
        if let Place::Image { scratch, .. } = &mut plan.place {
            *scratch = "/home/annabel/holiday-plans".into();
        }
    }
    imported
}

fn promise(disk: &BlockDevice) -> Promise {
    let partition = PartitionIdentity {
        number: 1,
        start: 0,
        uuid: Some("6b1c2f6e-1b7a-4c55-9d3e-7a1f00c0ffee".into()),
        table_uuid: Some("annabels-table".into()),
    };
    let identity = Identity {
        size_bytes: 1,
        logical_sector: 512,
        model: None,
        serial: disk.serial.clone(),
        wwid: disk.wwid.clone(),
        by_id: disk.by_id.clone(),
        partition: Some(partition),
        backing: Some(Backing { path: "/srv/annabels-disk".into(), file: None, offset: 0 }),
        sequence: None,
        boot_id: "annabels-boot".into(),
    };
    Promise { named: "/srv/annabels-disk".into(), identity }
}

/// Appends the planted words to every text at a place of a document, or to its name; list items are written `[]`.
fn plant(value: &mut Value, place: &str, wanted: &str) {
    match value {
        Value::String(text) if place == wanted => *text = format!("{text} {PLANTED}"),
        Value::Array(items) => items.iter_mut().for_each(|item| plant(item, &format!("{place}[]"), wanted)),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut().filter(|(name, _)| *name != "hdr") {
                plant(field, &format!("{place}.{name}"), wanted);
            }
        }
        _ => {}
    }
}

fn places(value: &Value, place: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::String(_) => {
            found.insert(place.to_owned());
        }
        Value::Array(items) => items.iter().for_each(|item| places(item, &format!("{place}[]"), found)),
        Value::Object(fields) => {
            fields.iter().filter(|(name, _)| *name != "hdr").for_each(|(name, field)| {
                places(field, &format!("{place}.{name}"), found);
            });
        }
        _ => {}
    }
}

/// The published bytes of a run, unpacked and in lower case.
fn leaves(imported: &Imported) -> String {
    let (clean, _) = anonymous(imported.clone(), &owner()).expect("it is made anonymous");
    let bytes = unpacked(&packed(&clean).expect("it is packed")).expect("it is unpacked");
    import_bytes(&bytes, "published").expect("it is still a run");
    String::from_utf8(bytes).expect("it is text").to_lowercase()
}

fn secrets_in(text: &str) -> Vec<&'static str> {
    SECRETS.into_iter().filter(|secret| text.contains(secret)).collect()
}

#[test]
fn names_of_a_machine_and_its_owner_leave_in_no_field_of_a_record() {
    for name in ["plain", "aged", "directory", "merged", "interrupted"] {
        let imported = annabels(name);
        assert!(!secrets_in(&document(&imported).to_string().to_lowercase()).is_empty(), "{name}: nothing was planted");
        assert_eq!(secrets_in(&leaves(&imported)), Vec::<&str>::new(), "{name}");
    }
}

#[test]
fn a_secret_in_any_text_of_a_run_is_not_published() {
    let mut planted = 0;
    for name in ["directory", "failing"] {
        let mut imported = annabels(name);
        // One trial with two phases has every field that occurs.
        imported.trials.truncate(1);
        imported.trials[0].phases.truncate(2);
        let whole = document(&imported);
        let mut all = BTreeSet::new();
        places(&whole, "", &mut all);
        for place in all {
            let mut changed = whole.clone();
            plant(&mut changed, "", &place);
            // An enum value, or a number as text, cannot be changed.
            let Ok(imported) = import_bytes(changed.to_string().as_bytes(), "planted") else { continue };
            planted += 1;
            assert_eq!(secrets_in(&leaves(&imported)), Vec::<&str>::new(), "{name}: planted at {place}");
        }
    }
    assert!(planted > 80, "texts were planted at {planted} places");
}

/// Places of texts, as [`places`] writes them, where words stay that are not known secrets: names and titles of what was measured, options,
/// and what kernel and tools report about themselves. These are prefixes.
const STAYS: [&str; 31] = [
    ".contenders[].asked",
    ".contenders[].label",
    ".run.ceiling.clock",
    ".run.ending",
    ".run.id",
    ".run.new.command_line[]",
    ".run.new.machine.architecture",
    ".run.new.machine.cpu",
    ".run.new.machine.cpu_limit",
    ".run.new.machine.device[][]",
    ".run.new.machine.distribution",
    ".run.new.machine.features",
    ".run.new.machine.kernel",
    ".run.new.machine.kernel_version",
    ".run.new.machine.root",
    ".run.new.machine.settings[][]",
    ".run.new.machine.tools",
    ".run.new.machine.virtualisation",
    ".run.new.merged.parts[]",
    ".run.new.plan.ages",
    ".run.new.plan.contenders[]",
    ".run.new.plan.notes[]",
    ".run.new.plan.title",
    ".run.new.plan.works[]",
    ".run.new.title",
    ".run.new.version",
    ".run.new.works[]",
    ".trials[].commands[].line",
    ".trials[].phases[]",
    ".trials[].scale",
    ".trials[].workload",
];
/// The same for the state found of a trial's filesystem and device.
const FOUND: [&str; 14] = [
    "aged.age",
    "aged.sources[]",
    "aged.summary",
    "backend",
    "device.",
    "beneath[].",
    "filesystem",
    "kernel",
    "more_options[]",
    "mount_options[]",
    "options[]",
    "remarks[]",
    "scheduler",
    "super_options[]",
];
/// Places among those where only known words stay.
const GOES: [&str; 7] = [
    ".environment",
    ".user",
    ".input",
    ".outcome.commands[].output",
    ".outcome.commands[].errors",
    ".outcome.commands[].left_behind[]",
    ".outcome.errors.first[].message",
];

fn may_stay(place: &str) -> bool {
    let closing = [".trials[].closing.remarks[]", ".trials[].closing.axes[]", ".trials[].remarks[]"];
    let found = place.strip_prefix(".trials[].found.");
    let stays = STAYS.iter().chain(&closing).any(|known| place.starts_with(known))
        || found.is_some_and(|place| FOUND.iter().any(|known| place.starts_with(known)));
    stays && !GOES.iter().any(|known| place.ends_with(known))
}

/// A word that no rule knows, after a colon as a program's output is.
const MARK: &str = "mkfs failed: zqxmarked";

fn mark(value: &mut Value, place: &str, wanted: &str) {
    match value {
        Value::String(text) if place == wanted => *text = MARK.into(),
        Value::Array(items) => items.iter_mut().for_each(|item| mark(item, &format!("{place}[]"), wanted)),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut().filter(|(name, _)| *name != "hdr") {
                mark(field, &format!("{place}.{name}"), wanted);
            }
        }
        _ => {}
    }
}

/// A run in which the user's own programs failed, and so did everything else that can print.
fn failed() -> Imported {
    use records::outcome::{CommandRun, OperationError};
    use records::program::{Command, Step};
    let mut imported = annabels("failing");
    imported.run.status = records::RunStatus::Interrupted;
    imported.run.ending = Some("it was stopped".into());
    imported.contenders[0].error = Some("it could not be made".into());
    imported.trials.truncate(1);
    let trial = &mut imported.trials[0];
    trial.reason = Some("mkfs ended with 1".into());
    trial.remarks = vec!["not checked".into()];
    let mut closing = records::Closing { check_answer: "all is lost".into(), ..records::Closing::default() };
    closing.damage = Some("all is lost".into());
    closing.remarks = vec!["not checked".into()];
    trial.closing = Some(closing);
    let mut found = trial.found.clone().unwrap_or_else(records::Found::nothing);
    found.cannot.insert("snapshot".into(), "it cannot".into());
    found.inspected.insert("tune2fs".into(), "it printed".into());
    found.remarks = vec!["not verified".into()];
    trial.found = Some(found);
    let mut phases = annabels("plain").trials[0].phases.clone();
    phases.truncate(1);
    let phase = &mut phases[0];
    let run = CommandRun {
        output: "out".into(),
        errors: "err".into(),
        left_behind: vec!["sleep".into()],
        ..CommandRun::default()
    };
    phase.outcome.commands = vec![run];
    phase.outcome.remarks = vec!["a remark".into()];
    phase.outcome.errors.first = vec![OperationError {
        step: "write".into(),
        file: "a".into(),
        offset: None,
        errno: 28,
        message: "it is full".into(),
    }];
    phase.evidence.remarks = vec!["a remark".into()];
    phase.evidence.disturbed = vec!["others wrote".into()];
    trial.phases = phases;
    trial.commands =
        vec![records::CommandRecord { line: "mkfs".into(), status: Some(1), output: "no".into(), elapsed_ns: 1 }];
    let new = &mut imported.run.new;
    new.command_line = ["bakeoff", "run", "--command", "make", "--user", "zoe"].map(String::from).into();
    let work = &mut new.plan.as_mut().expect("a plan").works[0];
    let command = Command {
        words: vec!["make".into()],
        environment: [("TOKEN".to_owned(), "word".to_owned())].into(),
        user: Some("zoe".into()),
        input: "typed".into(),
        ..Command::default()
    };
    work.compiled.program.phases[0].groups[0].steps = vec![Step::Run(Box::new(command))];
    imported
}

#[test]
fn a_text_stays_only_where_its_words_are_known() {
    let imported = failed();
    let whole = document(&imported);
    let mut all = BTreeSet::new();
    places(&whole, "", &mut all);
    let (mut marked, mut gone, mut leaving) = (0, 0, Vec::new());
    for place in all {
        let mut changed = whole.clone();
        mark(&mut changed, "", &place);
        // An enum value, or a number as text, cannot be changed.
        let Ok(imported) = import_bytes(changed.to_string().as_bytes(), "marked") else { continue };
        marked += 1;
        if leaves(&imported).contains("zqxmarked") {
            if !may_stay(&place) {
                leaving.push(place);
            }
        } else {
            gone += 1;
        }
    }
    assert_eq!(leaving, Vec::<String>::new(), "what is written there leaves");
    assert!(marked > 100 && gone > 20, "texts were marked at {marked} places, and {gone} did not leave");
}

#[test]
fn output_and_user_of_failed_programs_are_not_published() {
    let text = leaves(&failed());
    for gone in [
        "mkfs ended with 1",
        "it could not be made",
        "all is lost",
        "it cannot",
        "it printed",
        "zoe",
        "typed",
        "\"word\"",
    ] {
        assert!(!text.contains(gone), "{gone} leaves");
    }
    assert!(text.contains("no space left on device"), "the error number in words stays");
    // A name given in one argument, and in a title.
    let mut imported = failed();
    imported.run.new.command_line = vec!["bakeoff".into(), "--user=zoe".into()];
    imported.run.new.title = "made by zoe".into();
    assert!(!leaves(&imported).contains("zoe"));
}

#[test]
fn names_of_maps_are_texts_too() {
    let mut imported = annabels("directory");
    let machine = imported.run.new.machine.as_mut().expect("a machine");
    machine.tools.insert("mkfs of annabel".into(), "1".into());
    machine.tools.insert("mkfs of annabel's".into(), "2".into());
    let found = imported.trials[0].found.as_mut().expect("it was found");
    found.inspected.insert("xfs_info /srv/annabels-disk".into(), "Last mounted on: /srv/annabels-disk".into());
    found.cannot.insert("snapshot on annas-kitchen".into(), "no".into());
    assert_eq!(secrets_in(&leaves(&imported)), Vec::<&str>::new());
    let (clean, _) = anonymous(imported, &owner()).expect("anonymous");
    assert_eq!(clean.run.new.machine.expect("a machine").tools.len(), 2, "two programs stay two");
}

#[test]
fn an_anonymous_run_is_not_changed_again() {
    for name in ["plain", "aged", "directory", "merged", "failing", "interrupted"] {
        let (clean, left_out) = anonymous(annabels(name), &owner()).expect("anonymous");
        assert!(left_out.of(Rule::Serial) > 0 || clean.trials.iter().all(|trial| trial.found.is_none()), "{name}");
        let (again, more) = anonymous(clean.clone(), &owner()).expect("anonymous");
        assert_eq!((&again, more.is_empty()), (&clean, true), "{name}: {more:?}");
        // A gallery knows nothing of the owner.
        let (elsewhere, more) = anonymous(clean.clone(), &Owner::default()).expect("anonymous");
        assert_eq!((&elsewhere, more.is_empty()), (&clean, true), "{name}: {more:?}");
    }
}

#[test]
fn figures_and_what_they_depend_on_stay() {
    let before = annabels("plain");
    let (after, _) = anonymous(before.clone(), &owner()).expect("anonymous");
    let outcomes = |imported: &Imported| -> Vec<_> {
        imported.trials.iter().flat_map(|trial| &trial.phases).map(|phase| phase.outcome.clone()).collect()
    };
    assert_eq!(outcomes(&after), outcomes(&before));
    let (machine, was) = (after.run.new.machine.expect("a machine"), before.run.new.machine.expect("a machine"));
    assert_eq!((&machine.kernel, &machine.cpu, machine.memory_bytes), (&was.kernel, &was.cpu, was.memory_bytes));
    assert_eq!(machine.boot_parameters, "mitigations=off");
    assert!(machine.settings.iter().any(|(name, _)| name == "/proc/sys/vm/dirty_ratio"), "{:?}", machine.settings);
    let device = after.trials[0].found.as_ref().and_then(|found| found.device.as_ref()).expect("a device");
    assert_eq!(device.model.as_deref(), Some("Disk 77"));
    let labels =
        |imported: &[records::ContenderRecord]| imported.iter().map(|one| one.label.clone()).collect::<Vec<_>>();
    assert_eq!(labels(&after.contenders), labels(&before.contenders));
}

#[test]
fn directories_become_numbers_and_stay_apart() {
    let mut imported = annabels("directory");
    let mut second = imported.contenders[0].clone();
    second.index = 1;
    for (contender, path) in [(&mut imported.contenders[0], "/srv/annabels-disk"), (&mut second, "b")] {
        contender.label = path.into();
        let asked = contender.asked.as_mut().expect("as asked");
        (asked.label, asked.base) = (path.into(), path.into());
    }
    imported.contenders.push(second);
    let (clean, _) = anonymous(imported, &owner()).expect("anonymous");
    let labels: Vec<&str> = clean.contenders.iter().map(|contender| contender.label.as_str()).collect();
    assert_eq!(labels, ["directory 1", "directory 2"]);
}

#[test]
fn a_common_word_is_no_secret_and_a_short_name_is_one_only_as_a_whole_word() {
    let mut imported = run("plain");
    let trial = &mut imported.trials[0];
    trial.remarks = vec!["ext4 on root, written by eva; 3 inodes, evaluated".into()];
    let owner =
        Owner { hosts: vec!["debian".into(), "ext4".into(), "node".into()], users: vec!["root".into(), "Eva".into()] };
    let (clean, _) = anonymous(imported, &owner).expect("anonymous");
    assert_eq!(clean.trials[0].remarks, ["ext4 on root, written by (left out); 3 inodes, evaluated"]);
}

#[test]
fn a_file_that_unpacks_to_more_than_any_ledger_is_refused() {
    use std::io::Write;
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b' '; 1 << 20];
    (0..257).for_each(|_| bomb.write_all(&zeros).expect("memory"));
    let refused = unpacked(&bomb.finish().expect("memory")).expect_err("it is too large");
    assert!(refused.contains("larger than 256 MiB"), "{refused}");
    assert!(unpacked(b"\x1f\x8bnothing").expect_err("it is damaged").contains("unpacked"));
}
