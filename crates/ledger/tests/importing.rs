//! Output of other programs is imported as it is; missing values stay missing; no input breaks the reader.

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

/// Amount over the time until the last call returned.
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
    let results = &json["jobs"][0]["read"];
    let imported = read("fio-randread-plus.json");
    let phase = phase(&imported, 0, "randread-read");
    assert!(close(rate(phase), results["iops"].as_f64().expect("a rate")));
    assert_eq!(phase.outcome.bytes_read, results["io_bytes"].as_u64().expect("bytes"));
    let latency = &phase.outcome.groups[0].latency["item"];
    assert_eq!(latency.count, results["clat_ns"]["N"].as_u64().expect("a count"));
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
fn tests_that_bonnie_could_not_time_are_missing() {
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

/// The rates of a phase of one contender, in the order of the trials.
fn rates(imported: &Imported, contender: &str, name: &str) -> Vec<f64> {
    let index = imported.contenders.iter().find(|one| one.label == contender).map(|one| one.index);
    let trials = imported.trials.iter().filter(|trial| Some(trial.contender) == index);
    trials.flat_map(|trial| trial.phases.iter().filter(|phase| phase.name == name).filter_map(rate)).collect()
}

fn labels(imported: &Imported) -> Vec<&str> {
    imported.contenders.iter().map(|contender| contender.label.as_str()).collect()
}

/// The correct results of small files, most of which were once read wrongly.
#[test]
fn every_known_file_gives_the_figures_that_its_program_measured() {
    const MB: f64 = 1e6;
    let known: [(&str, &str, &[f64]); 18] = [
        ("fio-2.16-kib-sequential.json", "big-write", &[107.3741824 * MB]),
        ("fio-2.1.9-no-total-ios.json", "big-write", &[107.3741824 * MB]),
        ("fio-3.33-unified-mixed.json", "mix-mixed", &[4096.0 / 0.284]),
        ("fio-status-interval-fast-then-slow.json", "w-write", &[62_914_560.0 / 3.001]),
        ("fio-status-interval-fast-then-slow.json", "r-read", &[125_829_120.0 / 3.001]),
        ("fio-two-runs-appended.json", "w-write", &[62_914_560.0 / 3.001, 31_457_280.0 / 3.001]),
        ("fio-two-runs-appended.json", "r-read", &[125_829_120.0 / 3.001, 62_914_560.0 / 3.001]),
        ("fio-client-server.json", "w-write", &[62_914_560.0 / 3.001]),
        ("dd-progress-nl.txt", "write", &[52.4288 * MB]),
        ("dd-progress-cr.txt", "write", &[52.4288 * MB]),
        ("dd-cached-then-cold.txt", "read", &[5368.70912 * MB]),
        ("dd-cached-then-cold.txt", "read after the cache was dropped", &[107.3741824 * MB]),
        ("dd-mixed-languages.txt", "write", &[104.8576 * MB, 26.2144 * MB]),
        ("dd-french.txt", "write", &[26.2144 * MB]),
        ("bonnie-whole-output.txt", "block-write", &[102.4 * MB]),
        ("bonnie-whole-output.txt", "per-char-write", &[900.0 * 1024.0]),
        ("bonnie-1.03.csv", "per-char-write-stdio", &[59_821.0 * 1024.0]),
        ("bonnie-1.03.csv", "per-char-write", &[]),
    ];
    for (file, name, right) in known {
        let imported = read(file);
        let found = rates(&imported, &imported.contenders[0].label, name);
        let fits =
            found.len() == right.len() && found.iter().zip(right).all(|(found, right)| close(Some(*found), *right));
        assert!(fits, "{file}, {name}: {found:?}, and not {right:?}");
    }
    assert_eq!(phase(&read("fio-2.1.9-no-total-ios.json"), 0, "big-write").outcome.items, 1024);
    assert_eq!(labels(&read("fio-client-server.json")), ["clienta"]);
    assert_eq!(labels(&read("bonnie-whole-output.txt")), ["alpha"]);
    let reports = read("fio-status-interval-fast-then-slow.json");
    assert!(reports.trials[0].remarks[0].contains("wrote 2 reports"), "{:?}", reports.trials[0].remarks);
}

fn text_of(name: &str) -> String {
    String::from_utf8(sample(name)).expect("text")
}

#[test]
fn a_fio_job_that_failed_has_a_remark_and_no_figure() {
    let text = text_of("fio-two-runs-appended.json");
    let failed = text.replacen("\"groupid\": 0, \"error\": 0", "\"groupid\": 0, \"error\": 28", 1);
    assert_ne!(failed, text);
    let imported = import_bytes(failed.as_bytes(), "runs.json").expect("the rest is read");
    assert_eq!(names(&imported, 0), ["r-read"]);
    assert_eq!(names(&imported, 1), ["w-write", "r-read"]);
    let remark = &imported.trials[0].remarks[0];
    assert!(remark.contains("job w") && remark.contains("28") && remark.contains("No space left"), "{remark}");
    let all = text.replace("\"error\": 0", "\"error\": 5");
    let refused = import_bytes(all.as_bytes(), "runs.json").expect_err("nothing is left").to_string();
    assert!(refused.contains("job w ended with error 5"), "{refused}");
}

#[test]
fn a_clone_that_failed_takes_the_sum_of_its_job_away() {
    let text = text_of("fio-write.json");
    let failed = text.replacen("\"error\" : 0", "\"error\" : 5", 1);
    assert_ne!(failed, text);
    let refused = import_bytes(failed.as_bytes(), "w.json").expect_err("half of a sum is none").to_string();
    assert!(refused.contains("job w"), "{refused}");
}

#[test]
fn clients_of_a_fio_server_are_contenders_and_their_sum_is_none() {
    let text = text_of("fio-client-server.json");
    let (head, json) = text.split_at(text.find('{').expect("JSON"));
    let mut output: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let mut second = output["client_stats"][0].clone();
    second["hostname"] = "clientb".into();
    second["write"]["io_bytes"] = 31_457_280.into();
    output["client_stats"].as_array_mut().expect("clients").insert(1, second);
    let imported = import_bytes(format!("{head}{output}").as_bytes(), "clients.json").expect("it is read");
    assert_eq!(labels(&imported), ["clienta", "clientb"]);
    assert!(close(rates(&imported, "clientb", "w-write").first().copied(), 31_457_280.0 / 3.001));
}

#[test]
fn runs_of_fio_one_right_after_the_other_are_samples_and_reports_of_one_are_not() {
    let run = |began: i64, elapsed: i64, bytes: u64| {
        format!(
            "{{\"fio version\": \"fio-3.36\", \"timestamp\": {}, \"jobs\": [{{\"jobname\": \"w\", \"elapsed\": {elapsed}, \"job options\": \
             {{\"rw\": \"write\"}}, \"write\": {{\"io_bytes\": {bytes}, \"io_kbytes\": 1, \"total_ios\": 9, \"runtime\": {}}}}}]}}\n",
            began + elapsed,
            elapsed * 1000
        )
    };
    let samples =
        |texts: [String; 3]| import_bytes(texts.concat().as_bytes(), "fio.json").expect("it is read").trials.len();
    for seconds in [1, 2, 7, 60] {
        let one_by_one = [0, 1, 2].map(|number| run(1000 + number * seconds, seconds, 1 << 20));
        assert_eq!(samples(one_by_one), 3, "runs of {seconds} s");
        let reports = [1, 2, 3].map(|number| run(1000, number * seconds, (number as u64) << 20));
        assert_eq!(samples(reports), 1, "reports every {seconds} s");
    }
}

#[test]
fn a_second_result_of_fio_that_is_torn_is_refused_and_not_dropped() {
    let text = text_of("fio-two-runs-appended.json");
    let refused = import_bytes(&text.as_bytes()[..text.len() - 100], "torn.json").expect_err("torn").to_string();
    assert!(refused.contains("after 1 complete results"), "{refused}");
}

#[test]
fn dd_is_read_in_any_language() {
    for line in [
        "104857600 bytes (105 MB, 100 MiB) copied, 4 s, 26.2 MB/s",
        "104857600 bytes transferred in 4.000000 secs (26214400 bytes/sec)",
        "104857600字节（105 MB，100 MiB）已复制，4 s，26.2 MB/s",
        "104857600 バイト (105 MB, 100 MiB) コピーされました、 4 s、26.2 MB/s",
        "скопировано 104857600 байт (105 MB, 100 MiB), 4 s, 26,2 MB/s",
        "104857600 bytes (105 MB, 100 MiB) copiati, 4 s, 26,2 MB/s",
        "104857600 octets (105 Mo, 100 Mio) copiés, 4 s, 26,2 Mo/s",
    ] {
        let imported = import_bytes(line.as_bytes(), "dd.txt").expect(line);
        assert!(close(rate(phase(&imported, 0, "copy")), 26.2144e6), "{line}");
    }
    for line in ["104857600 bytes (105 MB) copied, 4 s, 99.2 MB/s", "104857600 bytes copied", "read 5 of 7, 3 MB/s"] {
        assert!(import_bytes(line.as_bytes(), "dd.txt").is_err(), "{line}");
    }
}

#[test]
fn machines_and_disks_in_one_log_of_dd_are_contenders_of_their_own() {
    let figure =
        |seconds: u32| format!("1+0 in\n1+0 out\n1000000000 bytes copied, {seconds} s, {} MB/s\n", 1000 / seconds);
    let disks = format!(
        "# dd if=/dev/zero of=/mnt/a/t bs=1M\n{}# dd if=/dev/zero of=/mnt/b/t bs=1M\n{}# dd if=/dev/zero of=/mnt/a/u bs=1M\n{}",
        figure(1),
        figure(2),
        figure(4)
    );
    let imported = import_bytes(disks.as_bytes(), "disks.txt").expect("it is read");
    assert_eq!(labels(&imported), ["/mnt/a", "/mnt/b"]);
    assert_eq!(rates(&imported, "/mnt/a", "write"), [1e9, 2.5e8]);
    let machines =
        format!("root@alpha:~# dd if=/dev/zero of=t\n{}root@beta:~# dd if=/dev/zero of=t\n{}", figure(1), figure(2));
    let imported = import_bytes(machines.as_bytes(), "machines.txt").expect("it is read");
    assert_eq!(labels(&imported), ["alpha", "beta"]);
    let ways = format!("$ dd if=/dev/zero of=t conv=fsync\n{}$ dd if=/dev/zero of=t\n{}", figure(2), figure(1));
    let imported = import_bytes(ways.as_bytes(), "ways.txt").expect("it is read");
    assert_eq!(names(&imported, 0), ["write (conv=fsync)", "write"]);
}

#[test]
fn versions_and_machines_of_bonnie_are_not_set_side_by_side() {
    let middle = text_of("bonnie-1.96.csv");
    let other = middle.replace(",ext4,", ",beta,");
    let larger = middle.replace(",16G,", ",32G,");
    let imported = import_bytes(format!("{middle}{other}{larger}").as_bytes(), "b.csv").expect("it is read");
    assert_eq!(labels(&imported), ["ext4 (16G)", "beta", "ext4 (32G)"]);
    let both = import_bytes(format!("{}{middle}", text_of("bonnie-1.03.csv")).as_bytes(), "b.csv").expect("it is read");
    assert!(matches!(&both.run.new.origin, Origin::Foreign { program, .. } if program == "Bonnie++ 1.03, 1.96"));
    assert_eq!(rates(&both, "xfs", "per-char-write").len() + rates(&both, "ext4", "per-char-write-stdio").len(), 0);
    let torn = format!("{}1.96,1.96,ext4,1,1,16G,,701,98,1,21,66031,9,2391,96,188113,12,301.2,9,16\n", middle);
    assert!(import_bytes(torn.as_bytes(), "b.csv").is_err(), "a torn line is not dropped");
}

#[test]
fn a_file_of_no_known_kind_is_refused() {
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
        assert!(!text.contains(secret), "{secret} is in it");
    }
    for kept in ["A disk", "64 MB/s", "\"--samples\",\"3\"", "\"--scratch\""] {
        assert!(text.contains(kept), "{kept} was lost");
    }
    let again = import_bytes(text.as_bytes(), "run.json").expect("it is still a run");
    assert_eq!(again.trials[0].phases, imported.trials[0].phases, "figures are as they were");
}

/// Imported results must be fit to be judged: finite times, positive counts.
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
