//! What other programs printed comes in as it was; what they never said stays missing; nothing breaks the reader.

mod support;

use ledger::import::{ImportError, Imported, export, import_bytes};
use ledger::program::Figure;
use ledger::{Access, Ledger, Origin, PhaseRecord};
use proptest::prelude::*;
use records::{BlockDevice, Found, Machine};
use support::{SAMPLES, sample};

fn read(name: &str) -> Imported {
    import_bytes(&sample(name), name).expect("the sample is read")
}

fn phase<'a>(imported: &'a Imported, trial: usize, name: &str) -> &'a PhaseRecord {
    let found = imported.trials[trial].phases.iter().find(|phase| phase.name == name);
    found.unwrap_or_else(|| panic!("no phase {name} in {:?}", names(imported, trial)))
}

fn names(imported: &Imported, trial: usize) -> Vec<&str> {
    imported.trials[trial].phases.iter().map(|phase| phase.name.as_str()).collect()
}

/// What was done over the time until the last call returned.
fn rate(phase: &PhaseRecord) -> Option<f64> {
    let outcome = &phase.outcome;
    let amount = match phase.figure {
        Figure::ItemsPerSecond => outcome.items,
        _ => outcome.bytes_read.max(outcome.bytes_written),
    };
    (outcome.returned_ns > 0 && amount > 0).then(|| amount as f64 / (outcome.returned_ns as f64 / 1e9))
}

fn close(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value / expected - 1.0).abs() < 1e-6)
}

#[test]
fn fio_gives_its_own_rates_back() {
    let text = String::from_utf8(sample("fio-randread-plus.json")).expect("text");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let told = &json["jobs"][0]["read"];
    let imported = read("fio-randread-plus.json");
    let phase = phase(&imported, 0, "randread-read");
    assert!(close(rate(phase), told["iops"].as_f64().expect("a rate")));
    assert_eq!(phase.outcome.bytes_read, told["io_bytes"].as_u64().expect("bytes"));
    let latency = &phase.outcome.groups[0].latency["item"];
    assert_eq!(latency.count, told["clat_ns"]["N"].as_u64().expect("a count"));
    assert_eq!(imported.contenders[0].label, "fio-randread-plus");
    assert!(matches!(&imported.run.new.origin, Origin::Foreign { program, .. } if program.starts_with("fio ")));
}

#[test]
fn clones_of_a_fio_job_add_up_and_the_last_sets_the_time() {
    let imported = read("fio-write.json");
    assert_eq!(names(&imported, 0), ["w-write"]);
    let phase = phase(&imported, 0, "w-write");
    assert_eq!(phase.outcome.bytes_written, 2 * (64 << 20));
    assert_eq!(phase.outcome.durable_ns, None, "fio's fsync is not the whole filesystem's");
    assert!(phase.outcome.groups[0].latency.is_empty(), "plain JSON has no histogram");
    assert!(phase.outcome.remarks[0].contains("fsync"));
}

#[test]
fn both_directions_of_a_fio_job_are_phases() {
    assert_eq!(names(&read("fio-randrw.json"), 0), ["mix-read", "mix-write"]);
}

#[test]
fn notes_that_fio_prints_before_its_json_are_no_obstacle() {
    let mut text = b"fio: this platform does not support something\n".to_vec();
    text.extend(sample("fio-randrw.json"));
    assert_eq!(names(&import_bytes(&text, "x.json").expect("it is read"), 0).len(), 2);
}

#[test]
fn bonnie_of_every_age_gives_its_own_rates_back() {
    let old = read("bonnie-1.03.csv");
    assert_eq!(old.contenders.iter().map(|contender| contender.label.as_str()).collect::<Vec<_>>(), ["xfs", "btrfs"]);
    assert!(close(rate(phase(&old, 0, "block-write")), 169_432.0 * 1024.0));
    assert!(close(rate(phase(&old, 1, "random-delete")), 3377.0));
    assert!(close(rate(phase(&old, 0, "random-seeks")), 422.6));
    let middle = read("bonnie-1.96.csv");
    assert!(close(rate(phase(&middle, 0, "block-read")), 188_113.0 * 1024.0));
    assert!(close(rate(phase(&middle, 0, "sequential-create")), 21_301.0));
    let new = read("bonnie-2.00.csv");
    assert!(close(rate(phase(&new, 0, "per-char-write")), 922.0 * 1024.0));
}

#[test]
fn what_bonnie_could_not_time_is_missing() {
    let old = read("bonnie-1.03.csv");
    assert!(!names(&old, 0).contains(&"sequential-stat"));
    let cpu = phase(&old, 0, "block-write").outcome.cpu;
    let share = (cpu.user_ns + cpu.system_ns) as f64 / phase(&old, 0, "block-write").outcome.returned_ns as f64;
    assert!((share - 0.24).abs() < 1e-6, "{share}");
}

#[test]
fn lines_of_one_machine_are_blocks() {
    let line = String::from_utf8(sample("bonnie-1.96.csv")).expect("text");
    let imported = import_bytes(line.repeat(3).as_bytes(), "b.csv").expect("it is read");
    assert_eq!(imported.trials.iter().map(|trial| trial.block).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(imported.contenders.len(), 1);
}

#[test]
fn dd_is_read_in_english_and_in_german() {
    let english = read("dd-english.txt");
    assert!(close(rate(phase(&english, 0, "write")), 1_073_741_824.0 / 0.577));
    assert!(close(rate(phase(&english, 0, "read")), 1_073_741_824.0 / 5.63442));
    assert!(close(rate(phase(&english, 1, "read")), 1_073_741_824.0 / 5.5));
    let german = read("dd-german.txt");
    assert!(close(rate(phase(&german, 0, "write")), 1_073_741_824.0 / 8.67643));
    assert!(close(rate(phase(&german, 0, "read")), 1_073_741_824.0 / 0.35));
}

#[test]
fn what_is_of_no_known_kind_is_refused() {
    for text in ["", "hello", "{}", "{\"jobs\": []}", "a,b,c\n", "1 bytes copied\n"] {
        assert!(matches!(import_bytes(text.as_bytes(), "x"), Err(ImportError::Unknown { .. })), "{text:?}");
    }
    let torn = &sample("fio-randrw.json")[..2000];
    assert!(matches!(import_bytes(torn, "x"), Err(ImportError::Malformed { .. } | ImportError::Unknown { .. })));
}

#[test]
fn an_imported_run_is_kept_once_and_travels_on() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut ledger = Ledger::open(&folder.path().join("a.db"), Access::Write).expect("a ledger");
    let id = ledger.keep_imported(&read("bonnie-1.03.csv")).expect("it is kept");
    let text = export(&ledger, &id, false).expect("it is exported");
    let again = import_bytes(text.as_bytes(), "run.json").expect("it is read");
    assert_eq!(again.trials, ledger.trials(&id).expect("trials"));
    assert_eq!(again.contenders, ledger.contenders(&id).expect("contenders"));
    let refused = ledger.keep_imported(&again).expect_err("it is there already").to_string();
    assert!(refused.contains(&id), "{refused}");
    let mut other = Ledger::open(&folder.path().join("b.db"), Access::Write).expect("another ledger");
    assert_eq!(other.keep_imported(&again).expect("it is kept elsewhere"), id);
    assert_eq!(other.trials(&id).expect("trials"), again.trials);
}

#[test]
fn an_anonymous_export_names_no_host_serial_or_path() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut ledger = Ledger::open(&folder.path().join("a.db"), Access::Write).expect("a ledger");
    let mut imported = read("dd-english.txt");
    imported.run.new.machine =
        Some(Machine { hostname: "secret-box".into(), kernel_version: "memory=64 MB/s".into(), ..Machine::default() });
    let disk = BlockDevice { serial: Some("WD-123456".into()), model: Some("A disk".into()), ..BlockDevice::default() };
    imported.trials[0].found = Some(Found { device: Some(disk), ..Found::nothing() });
    imported.run.new.command_line = [
        "bakeoff",
        "run",
        "mine/plan.toml",
        "--dir=/home/anna/disk",
        "--dir",
        "srv",
        "--scratch",
        "annas images",
        "--samples",
        "3",
    ]
    .map(String::from)
    .into();
    let output = "made 0f3c2f6e-1b7a-4c55-9d3e-7a1f00c0ffee on secret-box, WD-123456 at /dev/sdb";
    imported.trials[0].reason = Some(output.into());
    let id = ledger.keep_imported(&imported).expect("it is kept");
    let text = export(&ledger, &id, true).expect("it is exported");
    for secret in ["secret-box", "WD-123456", "/home", "anna", "0f3c2f6e", "/dev/sdb", "mine", "\"srv\"", "images"] {
        assert!(!text.contains(secret), "{secret} is told");
    }
    for kept in ["A disk", "64 MB/s", "\"--samples\",\"3\"", "\"--scratch\""] {
        assert!(text.contains(kept), "{kept} was lost");
    }
    let again = import_bytes(text.as_bytes(), "run.json").expect("it is still a run");
    assert_eq!(again.trials[0].phases, imported.trials[0].phases, "figures are as they were");
}

/// Whatever came out must be fit to be judged: finite times, positive counts.
fn is_sound(imported: &Imported) -> bool {
    let phases = imported.trials.iter().flat_map(|trial| &trial.phases);
    !imported.trials.is_empty()
        && phases.clone().all(|phase| rate(phase).is_none_or(|value| value.is_finite() && value > 0.0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        if let Ok(imported) = import_bytes(&bytes, "any") {
            prop_assert!(is_sound(&imported));
        }
    }

    #[test]
    fn a_sample_with_bytes_changed_is_read_or_refused(
        which in 0..SAMPLES.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut bytes = sample(SAMPLES[which]);
        for (place, byte) in changes {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(imported) = import_bytes(&bytes, SAMPLES[which]) {
            prop_assert!(is_sound(&imported));
        }
    }

    #[test]
    fn numbers_of_any_size_are_borne(
        which in 3..SAMPLES.len(),
        number in "[-+]?[0-9]{1,24}(\\.[0-9]{1,8})?(e[-+]?[0-9]{1,4})?|NaN|inf|-inf",
        field in 0usize..60,
    ) {
        let text = String::from_utf8(sample(SAMPLES[which])).expect("samples are text");
        let mut fields: Vec<&str> = text.split([',', ' ']).collect();
        let at = field % fields.len();
        fields[at] = &number;
        for between in [",", " "] {
            if let Ok(imported) = import_bytes(fields.join(between).as_bytes(), "any") {
                prop_assert!(is_sound(&imported));
            }
        }
    }

    #[test]
    fn dd_lines_of_any_shape_are_borne(text in "([0-9]{1,22} [Bb]ytes? \\(.{0,20}\\) (copied|kopiert), [-0-9,.e]{1,12} (s|Sekunden), .{0,10}\n){0,6}") {
        if let Ok(imported) = import_bytes(text.as_bytes(), "any") {
            prop_assert!(is_sound(&imported));
        }
    }
}
