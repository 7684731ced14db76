//! A plan over several machines: whatever happens to its tasks, every block counts once. Tested with a lost node, a requeued task and a
//! task that runs twice; with Slurm on this machine, with rank numbers as set by mpirun, and by hand.

mod support;

use ledger::{Access, Ledger};
use prerequisites::needs;
use records::{RunStatus, TrialStatus};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use support::{Place, Printed, until};

/// Time limit of a job.
const PATIENCE: Duration = Duration::from_secs(400);

/// Minimal work: no cold start, which takes seconds on a busy machine.
const TINY: &str = r#"
name = "tiny"
title = "tiny"
about = "A few files."
[scales.quick]
[[filesets]]
name = "f"
files = 50
layout = "flat"
names = "decimal"
smallest = "4 KiB"
largest = "4 KiB"
[[phases]]
name = "create"
doing = "creating"
cache = "as-found"
figure = "items/s"
work = { files = "f", steps = ["create", "write", "close"] }
"#;

/// The work, and two directories in memory.
fn prepare(place: &Place) {
    place.write("tiny.toml", TINY);
    for name in ["a", "b"] {
        std::fs::create_dir_all(place.path(name)).expect("made");
    }
}

fn submitted(place: &Place, samples: u32, shards: u32, more: &str) -> Printed {
    prepare(place);
    place.bakeoff(&format!(
        "submit tiny.toml --dir a --dir b --samples {samples} --seed 5 --shards {shards} --folder job {more}"
    ))
}

/// `collect --progress --json`, as far as these tests read it.
#[derive(Deserialize)]
struct Progress {
    parts: Vec<PartState>,
}

#[derive(Deserialize)]
struct PartState {
    shard: u32,
    trials: usize,
    counts: Option<Execution>,
    dropped: Vec<Execution>,
}

#[derive(Deserialize)]
struct Execution {
    machine: String,
    trials: usize,
    finished: bool,
}

fn progress(place: &Place) -> Vec<PartState> {
    let output = place.bakeoff("collect job --progress --json").well();
    serde_json::from_str::<Progress>(&output.out).expect("its own form").parts
}

/// The merged run is finished and has every block with every contender exactly once.
fn is_whole(place: &Place, blocks: u32) {
    let ledger = Ledger::open(&place.path("job/results.db"), Access::Read).expect("the ledger opens");
    assert_eq!(ledger.runs().expect("runs").len(), 1);
    let run = ledger.run(None).expect("the run");
    assert_eq!(run.status, RunStatus::Finished, "{:?}", run.ending);
    let trials = ledger.trials(&run.id).expect("trials");
    let once = trials.iter().filter(|trial| trial.status != TrialStatus::Failed);
    let mut counted: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    for trial in once {
        let attempts = counted.entry((trial.block, trial.contender)).or_default();
        assert!(attempts.insert(trial.attempt), "block {} of contender {} counts twice", trial.block, trial.contender);
    }
    let wanted: BTreeSet<(u32, u32)> =
        (0..blocks).flat_map(|block| (0..3).map(move |contender| (block, contender))).collect();
    assert_eq!(counted.into_keys().collect::<BTreeSet<_>>(), wanted, "two directories and the twin in each block");
    assert!(place.path("job/report/index.html").is_file());
}

/// A private Slurm that ends with the test.
struct Cluster<'p> {
    place: &'p Place,
}

impl<'p> Cluster<'p> {
    const SCRIPT: &'static str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/slurm-cluster");

    fn start(place: &'p Place) -> Self {
        let cluster = Self { place };
        cluster.script(&["start"]);
        cluster
    }

    fn folder(&self) -> std::path::PathBuf {
        self.place.path("cluster")
    }

    fn script(&self, words: &[&str]) {
        let (verb, rest) = words.split_first().expect("a verb");
        let done = Command::new(Self::SCRIPT).arg(verb).arg(self.folder()).args(rest).output().expect("it starts");
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Output of a Slurm command.
    fn ask(&self, words: &[&str]) -> String {
        let conf = self.folder().join("slurm.conf");
        let done = Command::new(words[0]).args(&words[1..]).env("SLURM_CONF", conf).output().expect("it starts");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        // A failing test shows its own reason.
        let _ = Command::new(Self::SCRIPT).arg("stop").arg(self.folder()).output();
    }
}

#[test]
fn a_lost_node_costs_no_block_and_its_task_is_requeued_and_counts_once() {
    needs!(root, slurm, munge);
    let place = Place::in_memory();
    let cluster = Cluster::start(&place);
    let conf = cluster.folder().join("slurm.conf").display().to_string();
    prepare(&place);
    let words = "submit tiny.toml --dir a --dir b --samples 60 --seed 5 --shards 2 --folder job --slurm --wait";
    let mut waiting = place.start_with(words, &[("SLURM_CONF", &conf)]);
    until(PATIENCE, "the job's folder", || place.path("job/collect.sh").is_file().then_some(()));
    // The first part with a trial to lose.
    let (shard, node) = until(PATIENCE, "a trial", || {
        let begun = progress(&place).into_iter().find_map(|part| Some((part.shard, part.counts?)));
        begun.filter(|(_, one)| one.trials > 0 && !one.finished).map(|(shard, one)| (shard, one.machine))
    });
    cluster.script(&["lose", &node]);
    // Slurm holds a requeued task back for two minutes; the test shortens this.
    until(PATIENCE, "the end", || {
        for line in
            cluster.ask(&["squeue", "--noheader", "--states=PENDING", "--name=bakeoff-shard", "--format=%A"]).lines()
        {
            cluster.ask(&["scontrol", "update", &format!("JobId={}", line.trim()), "StartTime=now"]);
        }
        place.path("job/collected.json").is_file().then_some(())
    });
    assert!(waiting.wait().expect("it ends").success(), "the waiting process saw the end of it");
    is_whole(&place, 60);
    let parts = progress(&place);
    let lost = parts.iter().find(|part| part.shard == shard).expect("the part");
    let counts = lost.counts.as_ref().expect("it was done elsewhere");
    assert!(counts.finished && counts.trials == lost.trials && counts.machine != node, "on {}", counts.machine);
    assert_eq!(lost.dropped.iter().map(|one| one.machine.as_str()).collect::<Vec<_>>(), [node.as_str()]);
    assert!(lost.dropped[0].trials > 0 && !lost.dropped[0].finished);
    drop(cluster);
    let left = until(PATIENCE, "the cluster's end", || {
        let folder = place.folder().display().to_string();
        let mine = |pid: &Path| {
            std::fs::read(pid.join("cmdline")).is_ok_and(|words| String::from_utf8_lossy(&words).contains(&folder))
        };
        let left = std::fs::read_dir("/proc").expect("processes").flatten().filter(|entry| mine(&entry.path())).count();
        (left == 0).then_some(left)
    });
    assert_eq!(left, 0);
}

#[test]
fn a_part_that_runs_twice_at_once_counts_once_and_one_that_was_stopped_goes_on() {
    let place = Place::in_memory();
    submitted(&place, 24, 2, "").well();
    // On two machines at once, as after a node was wrongly considered lost; and twice on one of them.
    let mut tasks: Vec<_> = ["one", "one", "two"]
        .iter()
        .map(|node| place.start_with("shard job --index 1", &[("SLURMD_NODENAME", node)]))
        .collect();
    for task in &mut tasks {
        assert!(task.wait().expect("it ends").success());
    }
    // The task of the other part is killed in the middle and resumes in the same ledger; mpirun's variables make it the second rank.
    let rank = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2"), ("NODE_NAME", "three")];
    let mut killed = place.start_with("shard job", &rank);
    until(PATIENCE, "a trial of the second part", || {
        let part = progress(&place).into_iter().find(|part| part.shard == 2)?;
        part.counts.filter(|one| one.trials > 0).map(|_| ())
    });
    killed.kill().expect("killed");
    killed.wait().expect("reaped");
    let early = place.bakeoff("collect job");
    assert_eq!(early.status, Some(1), "the second part is missing: {early:#?}");
    assert!(early.out.contains("Not finished: shard 2"), "{}", early.out);
    assert!(place.start_with("shard job", &rank).wait().expect("it ends").success());
    let output = place.bakeoff("collect job").well();
    is_whole(&place, 24);
    let parts = progress(&place);
    let machines = |part: &PartState| {
        let counts = part.counts.as_ref().map(|one| one.machine.clone());
        (counts, part.dropped.iter().map(|one| one.machine.clone()).collect::<Vec<_>>())
    };
    assert_eq!(machines(&parts[1]), (Some("three".into()), vec![]));
    // If one machine finished the part before the other started it, it ran only once.
    let (counts, dropped) = machines(&parts[0]);
    assert!(counts.is_some() && dropped.len() <= 1, "{dropped:?}");
    assert_eq!(output.out.matches(" also ran on ").count(), dropped.len(), "{}", output.out);
    let again = place.bakeoff("shard job --index 1").well();
    assert!(again.out.contains("already done"), "{again:#?}");
}

#[test]
fn machines_that_are_not_alike_are_found_and_contenders_are_compared_within_them() {
    let place = Place::in_memory();
    submitted(&place, 9, 3, "").well();
    let mut files = Vec::new();
    for index in 1..=3 {
        let node = format!("node{index}");
        assert!(
            place
                .start_with(&format!("shard job --index {index}"), &[("NODE_NAME", &node)])
                .wait()
                .expect("it ends")
                .success()
        );
        let (ledger, file) = (format!("job/shards/{index}/{node}.db"), format!("{index}.json"));
        place.bakeoff(&format!("--ledger {ledger} export -o {file}")).well();
        // As if they were three machines, of which the last has slower memory.
        let text = std::fs::read_to_string(place.path(&file)).expect("there");
        let mut run: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let record = run.pointer_mut("/run").expect("the run's record");
        record["new"]["machine"]["hostname"] = node.into();
        if index == 3 {
            record["new"]["machine"]["kernel"] = "6.1.0-other".into();
            record["ceiling"]["write_bytes_per_second"] = 1e8.into();
        }
        place.write(&file, &run.to_string());
        files.push(file);
    }
    place.bakeoff(&format!("import {}", files.join(" "))).well();
    let full = place.bakeoff("show --full").well().out;
    for words in
        ["Machines\n", "node3: ", "differ in their kernel", "node3 writes to memory at", "over all machines", "next "]
    {
        assert!(full.contains(words), "{words}: {full}");
    }
    #[derive(Deserialize)]
    struct Results {
        machines: Machines,
    }
    #[derive(Deserialize)]
    struct Machines {
        machines: Vec<Machine>,
        pooled: Vec<Ratio>,
    }
    #[derive(Deserialize)]
    struct Machine {
        name: String,
        shards: Vec<u32>,
        blocks: usize,
        ceiling: Option<f64>,
    }
    #[derive(Deserialize)]
    struct Ratio {
        pooled: judge::Pooled,
        each: Vec<(String, f64)>,
    }
    let found: Results = serde_json::from_str(&place.bakeoff("show --json").well().out).expect("its own form");
    let machines: Vec<(&str, &[u32], usize)> =
        found.machines.machines.iter().map(|one| (one.name.as_str(), one.shards.as_slice(), one.blocks)).collect();
    assert_eq!(machines, [("node1", &[1][..], 3), ("node2", &[2][..], 3), ("node3", &[3][..], 3)]);
    assert_eq!(found.machines.machines[2].ceiling, Some(1e8));
    assert!(!found.machines.pooled.is_empty());
    for ratio in &found.machines.pooled {
        let judge::Pooled { interval, prediction, machines, .. } = ratio.pooled;
        assert_eq!((machines, ratio.each.len()), (3, 3));
        let further = prediction.expect("three machines say something of a further one");
        assert!(further.low <= interval.low && interval.high <= further.high, "{:?}", ratio.pooled);
    }
    place.bakeoff("report -o report").well();
    let page = std::fs::read_to_string(place.path("report/index.html")).expect("the page");
    assert!(page.contains("id=\"machines\"") && page.contains("A further machine"));
}

#[test]
fn a_job_file_that_other_users_can_write_is_not_executed() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::in_memory();
    submitted(&place, 2, 2, "").well();
    submitted(&place, 2, 2, "").refused(&["job"]);
    std::fs::set_permissions(place.path("job/job.json"), std::fs::Permissions::from_mode(0o666)).expect("changed");
    place.bakeoff("shard job --index 1").refused(&["job.json", "only you and root may own and write it"]);
    std::fs::set_permissions(place.path("job/job.json"), std::fs::Permissions::from_mode(0o644)).expect("changed");
    place.bakeoff("shard job --index 3").refused(&["--index 3", "1 to 2"]);
    place.bakeoff("shard job").refused(&["--index"]);
    place.bakeoff("submit tiny.toml --dir a --shards 9 --samples 3 --folder other").refused(&["9 shards"]);
    place
        .bakeoff("submit tiny.toml --dir a --shards 2 --samples 3 --folder other --slurm --sbatch=x")
        .refused(&["--sbatch"]);
}

/// Kubernetes' Job (batch/v1), restricted to the keys that our manifest may use: an unknown key is an error.
mod kubernetes {
    use super::BTreeMap;
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct Job {
        pub api_version: String,
        pub kind: String,
        pub metadata: Metadata,
        pub spec: Spec,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Metadata {
        pub name: Option<String>,
        pub labels: BTreeMap<String, String>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct Spec {
        pub completion_mode: Mode,
        pub completions: u32,
        pub parallelism: u32,
        #[serde(rename = "backoffLimitPerIndex")]
        pub _backoff_limit_per_index: u32,
        pub template: Template,
    }

    #[derive(Deserialize, PartialEq, Debug)]
    pub enum Mode {
        Indexed,
        NonIndexed,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Template {
        pub metadata: Metadata,
        pub spec: Pod,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct Pod {
        pub restart_policy: Restart,
        pub affinity: serde_json::Map<String, serde_json::Value>,
        pub containers: Vec<Container>,
        pub volumes: Vec<Volume>,
    }

    /// The restart policies that a Job's pods may have.
    #[derive(Deserialize)]
    pub enum Restart {
        Never,
        OnFailure,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct Container {
        #[serde(rename = "name")]
        pub _name: String,
        pub image: String,
        pub command: Vec<String>,
        pub env: Vec<Variable>,
        pub security_context: Security,
        pub volume_mounts: Vec<Mount>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct Variable {
        pub name: String,
        pub value_from: BTreeMap<String, BTreeMap<String, String>>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct Security {
        pub privileged: bool,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct Mount {
        pub name: String,
        pub mount_path: String,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct Volume {
        pub name: String,
        pub persistent_volume_claim: BTreeMap<String, String>,
    }
}

#[test]
fn the_manifest_for_kubernetes_is_an_indexed_job_whose_pods_carry_out_a_part_each() {
    let place = Place::in_memory();
    submitted(&place, 6, 3, "--kubernetes registry.example/bakeoff:1 --claim results").well();
    let text = std::fs::read_to_string(place.path("job/kubernetes.json")).expect("written");
    let job: kubernetes::Job = serde_json::from_str(&text).expect("a Job of batch/v1");
    assert_eq!((job.api_version.as_str(), job.kind.as_str()), ("batch/v1", "Job"));
    assert!(job.metadata.name.is_some());
    assert_eq!(job.spec.completion_mode, kubernetes::Mode::Indexed);
    assert_eq!((job.spec.completions, job.spec.parallelism), (3, 3));
    assert_eq!(job.spec.template.metadata.labels, job.metadata.labels);
    let pod = &job.spec.template.spec;
    assert!(matches!(pod.restart_policy, kubernetes::Restart::Never));
    assert!(pod.affinity.contains_key("podAntiAffinity"), "no two of them on one node");
    let [container] = pod.containers.as_slice() else { panic!("one container") };
    assert_eq!(container.image, "registry.example/bakeoff:1");
    assert_eq!(container.command[..2], ["bakeoff", "shard"]);
    assert_eq!(container.command[2], container.volume_mounts[0].mount_path);
    assert_eq!(container.volume_mounts[0].name, pod.volumes[0].name);
    assert_eq!(pod.volumes[0].persistent_volume_claim["claimName"], "results");
    assert!(!container.security_context.privileged, "directories need no privileges");
    assert_eq!(container.env[0].name, "NODE_NAME");
    assert_eq!(container.env[0].value_from["fieldRef"]["fieldPath"], "spec.nodeName");
}
