//! Runs of many clients under mpirun, on this one machine: figures, percentiles, files that one writes and another reads, clients that die.
//! Built and run by `make mpi-test`, since it needs an MPI.

use ledger::{Access, Ledger};
use prerequisites::needs;
use records::{PhaseRecord, TrialRecord, TrialStatus};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder for each test.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("shared")).expect("made");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `mpirun -np RANKS bakeoff ranks WORDS --dir shared`, or with `--fs` or `--shared` from the words, or by another program instead of bakeoff.
    fn ranks(&self, ranks: u32, through: &Path, words: &[&str], settings: &[(&str, &str)]) -> Output {
        let ranks_program = env!("CARGO_BIN_EXE_bakeoff-ranks");
        let mut command = Command::new("mpirun");
        command.args(["--oversubscribe", "--allow-run-as-root", "-np", &ranks.to_string(), ranks_program]);
        command.arg(through).arg("--ledger").arg(self.path("a.db")).arg("run").args(words);
        if !words.iter().any(|word| ["--fs", "--shared"].contains(word)) {
            command.arg("--dir").arg(self.path("shared"));
        }
        command.args(["--no-report", "--plain", "--seed", "7"]).envs(settings.iter().copied());
        command.env("OMPI_MCA_btl", "self,vader,tcp").current_dir(self.folder.path());
        command.output().expect("mpirun starts")
    }

    fn trials(&self) -> Vec<TrialRecord> {
        let ledger = Ledger::open(&self.path("a.db"), Access::Read).expect("a ledger");
        let run = ledger.run(None).expect("a run");
        ledger.trials(&run.id).expect("trials")
    }

    /// A program that starts the raw engine instead of an engine, and bakeoff for everything else.
    fn raw(&self) -> PathBuf {
        let engine = bakeoff().with_file_name("examples/raw-engine");
        assert!(engine.is_file(), "{} is built with the tests", engine.display());
        let (script, bakeoff) = (self.path("bakeoff-raw"), bakeoff());
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = agent ]; then exec {} ; fi\nexec {} \"$@\"\n",
            engine.display(),
            bakeoff.display()
        );
        std::fs::write(&script, text).expect("written");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("made a program");
        script
    }
}

fn bakeoff() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_bakeoff-ranks")).with_file_name("bakeoff");
    assert!(program.is_file(), "{} is missing: cargo build -p bakeoff", program.display());
    program
}

fn printed(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn measured(trial: &TrialRecord) -> impl Iterator<Item = &PhaseRecord> {
    trial.phases.iter().filter(|phase| !phase.preparation)
}

#[test]
fn percentiles_over_eight_ranks_are_those_of_all_raw_latencies() {
    needs!(mpi);
    let place = Place::new();
    let raw = place.path("raw");
    std::fs::create_dir(&raw).expect("made");
    let folder = raw.display().to_string();
    let words = ["mdtest-easy", "--clients", "8", "--samples", "1"];
    let output = place.ranks(8, &place.raw(), &words, &[("RAW_FOLDER", &folder)]);
    assert!(output.status.success(), "{}", printed(&output));
    let trials = place.trials();
    let trial = trials.iter().find(|trial| trial.status != TrialStatus::Failed).expect("a trial");
    assert_eq!(measured(trial).count(), 3);
    for phase in measured(trial) {
        let index = phase.outcome.phase;
        let each: Vec<Vec<u64>> = (0..8).map(|client| values(&raw.join(format!("raw-{client}-{index}")))).collect();
        let mut all: Vec<u64> = each.iter().flatten().copied().collect();
        all.sort_unstable();
        let item = &phase.outcome.groups[0].latency["item"];
        let found = engine::percentiles(item).expect("read");
        assert_eq!((found.count, found.max_ns, item.min_ns), (all.len() as u64, all[all.len() - 1], all[0]));
        for (quantile, ns) in [(0.5, found.p50_ns), (0.99, found.p99_ns), (0.999, found.p999_ns)] {
            agrees(&all, quantile, ns);
        }
        let together = phase.outcome.together.as_deref().expect("clients");
        for (client, values) in together.clients.iter().zip(&each) {
            let mut own = values.clone();
            own.sort_unstable();
            let latency = client.latency[0].expect("latencies");
            agrees(&own, 0.5, latency.p50_ns);
            agrees(&own, 0.99, latency.p99_ns);
        }
        assert_eq!(together.slowest, 7, "the last client is twenty times as slow");
        let longest = each.iter().map(|values| values.iter().sum::<u64>()).max();
        assert_eq!(longest.map(|ns| ns <= together.last_done_ns), Some(true));
    }
}

/// A percentile equals that of the sorted values within three digits.
fn agrees(sorted: &[u64], quantile: f64, ns: u64) {
    let exact = sorted[(quantile * sorted.len() as f64).ceil() as usize - 1];
    assert!(ns.abs_diff(exact) * 1_000 <= exact, "{quantile}: {ns} instead of {exact}");
}

fn values(path: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(path).expect("raw values");
    text.lines().map(|line| line.parse().expect("a number")).collect()
}

#[test]
fn a_client_that_dies_costs_a_trial_and_not_the_run() {
    needs!(mpi);
    let place = Place::new();
    let raw = place.path("raw");
    std::fs::create_dir(&raw).expect("made");
    let folder = raw.display().to_string();
    let words = ["mdtest-easy", "--clients", "4", "--samples", "2"];
    let output = place.ranks(4, &place.raw(), &words, &[("RAW_FOLDER", &folder), ("RAW_DIES", "2")]);
    assert!(output.status.success(), "{}", printed(&output));
    let trials = place.trials();
    let (failed, done): (Vec<_>, Vec<_>) = trials.iter().partition(|trial| trial.status == TrialStatus::Failed);
    assert_eq!(failed.len(), 1, "{trials:?}");
    let reason = failed[0].reason.as_deref().unwrap_or_default();
    assert!(reason.contains("client 2 on ") && reason.contains("status 9"), "{reason}");
    assert!(!done.is_empty(), "the run went on");
    let clients = |trial: &&TrialRecord| {
        measured(trial).all(|phase| phase.outcome.together.as_ref().is_some_and(|all| all.clients.len() == 4))
    };
    assert!(done.iter().all(clients), "with all four clients");
}

#[test]
fn a_client_reads_and_checks_files_of_another_client() {
    needs!(mpi);
    let place = Place::new();
    let words = [
        "ior-hard",
        "mdtest-hard",
        "ior-easy",
        "--clients",
        "4",
        "--samples",
        "1",
        "--set",
        "verify=yes",
        "--set",
        "records=50",
        "--set",
        "files=40",
        "--set",
        "size=2 MiB",
    ];
    let output = place.ranks(4, &bakeoff(), &words, &[]);
    assert!(output.status.success(), "{}", printed(&output));
    let mut checked: BTreeMap<String, u64> = BTreeMap::new();
    for trial in place.trials().iter().filter(|trial| trial.status != TrialStatus::Failed) {
        for phase in measured(trial).filter(|phase| phase.outcome.bytes_read > 0) {
            let verified = phase.outcome.verified.as_ref().expect("it verifies");
            assert_eq!((verified.wrong, verified.first.as_slice()), (0, &[][..]), "{}", phase.name);
            let together = phase.outcome.together.as_deref().expect("clients");
            assert!(together.clients.iter().all(|client| client.bytes_read > 0), "{}", phase.operation);
            *checked.entry(phase.operation.clone()).or_default() = verified.blocks;
        }
    }
    // 40 files of 3901 bytes for each of four, one block each; 2 MiB for each of four in blocks of 4 KiB; records of 47008 bytes: the whole blocks.
    assert_eq!(checked.get("mdtest-hard-read"), Some(&160));
    assert_eq!(checked.get("ior-easy-read"), Some(&2048));
    assert!(checked.get("ior-hard-read").is_some_and(|blocks| *blocks >= 200 * 10), "{checked:?}");
}

#[test]
fn one_run_holds_several_numbers_of_clients() {
    needs!(mpi);
    let place = Place::new();
    let words = ["mdtest-easy", "--clients", "1,2", "--samples", "1", "--set", "files=50"];
    let output = place.ranks(2, &bakeoff(), &words, &[]);
    assert!(output.status.success(), "{}", printed(&output));
    let mut found: Vec<(String, u64)> = Vec::new();
    for trial in place.trials().iter().filter(|trial| trial.status != TrialStatus::Failed) {
        found.extend(measured(trial).map(|phase| (trial.scale.clone(), phase.outcome.items)).next());
    }
    found.sort();
    found.dedup();
    assert_eq!(found, [("quick, clients 1".to_owned(), 50), ("quick, clients 2".to_owned(), 100)]);
    let text = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    assert!(text.contains("2 clients do") && text.contains("of linear"), "{text}");
    assert!(!text.contains('\x1b'), "mpirun's own output is no terminal: {text}");
}

/// SSHFS is mounted in namespaces of its server, and a memory limit is a control group: all clients enter them.
#[test]
fn clients_enter_namespaces_and_control_groups() {
    needs!(mpi, root, loop_devices, sshfs, sshd, ip);
    let each: [&[&str]; 2] = [
        &["--shared", "sshfs", "--image", "300M"],
        &["--fs", "ext4", "--axis", "limit.memory=256M", "--image", "100M"],
    ];
    for contender in each {
        let place = Place::new();
        let words = ["mdtest-easy", "--clients", "2", "--samples", "1", "--no-twin", "--set", "files=20"];
        let output = place.ranks(2, &bakeoff(), &[&words[..], contender].concat(), &[]);
        assert!(output.status.success(), "{}", printed(&output));
        let trials = place.trials();
        let trial = trials.iter().find(|trial| trial.status != TrialStatus::Failed).expect("a trial");
        for phase in measured(trial) {
            let together = phase.outcome.together.as_deref().expect("clients");
            assert_eq!(together.clients.len(), 2, "{}", phase.operation);
            assert_eq!(phase.outcome.items, 40, "{}", phase.operation);
        }
        if contender.contains(&"limit.memory=256M") {
            let found = &trial.found.as_ref().expect("what was found").options;
            let limit = found.iter().find(|option| option.asked == "limit.memory 256M").expect("read back");
            assert_eq!(limit.found.as_deref(), Some("268435456"));
            let after = &trial.closing.as_ref().expect("closing").axes;
            let most = after.iter().find(|one| one.asked.ends_with("in use at most")).expect("read after the work");
            assert!(
                most.found.as_deref().is_some_and(|bytes| bytes.parse::<u64>().is_ok_and(|bytes| bytes > 0)),
                "{most:?}"
            );
        }
    }
}

#[test]
fn more_clients_than_ranks_are_refused_before_anything_is_touched() {
    needs!(mpi);
    let place = Place::new();
    let output = place.ranks(2, &bakeoff(), &["mdtest-easy", "--clients", "4", "--samples", "1"], &[]);
    assert!(!output.status.success());
    assert!(printed(&output).contains("mpirun started 2"), "{}", printed(&output));
    assert!(!place.path("a.db").exists());
}
