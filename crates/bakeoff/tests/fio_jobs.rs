//! Job files of fio: checked, rewritten and run on real filesystems; refused with the line that cannot run; translated to workloads.

mod support;

use prerequisites::needs;
use std::collections::BTreeMap;
use std::io::Write;
use support::{Place, Printed};

/// Job files in the common forms, and the result of each: its first phase, or part of the error.
const FORMS: [(&str, Result<&str, &str>); 45] = [
    ("[seq-read]\nrw=read\nsize=8m\nbs=1m", Ok("seq-read")),
    ("[global]\nsize=4m\n[rand]\nrw=randread\nbs=4k\ndirect=1\nioengine=libaio\niodepth=16", Ok("rand")),
    ("[w]\nrw=write\nsize=4m\nend_fsync=1", Ok("w")),
    ("[w]\nrw=randwrite\nsize=4m\nbs=16k\nfdatasync=1", Ok("w")),
    ("[mix]\nrw=randrw\nrwmixread=70\nsize=4m", Ok("mix")),
    ("[mix]\nreadwrite=rw\nblocksize=8k\nsize=4m", Ok("mix")),
    ("[timed]\nrw=randread\nsize=4m\ntime_based\nruntime=1", Ok("timed")),
    ("[limited]\nrw=write\nsize=4m\nruntime=10s", Ok("limited")),
    ("[clones]\nrw=write\nsize=1m\nnumjobs=4\ngroup_reporting", Ok("clones")),
    ("[threads]\nrw=read\nsize=1m\nnumjobs=2\nthread", Ok("threads")),
    ("[a]\nrw=write\nsize=1m\n[b]\nstonewall\nrw=read\nsize=1m", Ok("a")),
    ("[a]\nrw=write\nsize=1m\nname=renamed", Ok("a")),
    ("; words\n# words\n[global]\nbs=4k ; words\n\n[a]\nrw=read\nsize=1m", Ok("a")),
    ("[ring]\nrw=randread\nsize=4m\nioengine=io_uring\niodepth=8", Ok("ring")),
    ("[mapped]\nrw=randread\nsize=4m\nioengine=mmap", Ok("mapped")),
    ("[many]\nrw=randwrite\nsize=4m\nnrfiles=4\nbs=4k", Ok("many")),
    ("[range]\nrw=randwrite\nsize=4m\nbsrange=4k-64k", Ok("range")),
    ("[split]\nrw=randread\nsize=4m\nbssplit=4k/60:64k/40", Ok("split")),
    ("[rate]\nrw=randread\nsize=1m\nrate_iops=1000", Ok("rate")),
    ("[checked]\nrw=write\nsize=1m\nverify=crc32c\ndo_verify=1", Ok("checked")),
    ("[zipf]\nrw=randread\nsize=4m\nrandom_distribution=zipf:1.1", Ok("zipf")),
    ("[below]\nrw=write\nsize=1m\ndirectory=sub", Ok("below")),
    ("[names]\nrw=write\nsize=2m\nfilename=one:two", Ok("names")),
    ("[osync]\nrw=write\nsize=1m\nsync=1\nbs=64k", Ok("osync")),
    ("[raw]\nrw=read\nfilename=/dev/sda", Err("line 3: `filename=/dev/sda` names a device")),
    ("[away]\nrw=write\nsize=1m\ndirectory=/srv", Err("line 4: `directory=/srv` is a path outside")),
    ("[net]\nioengine=net\nport=9000\nrw=write\nsize=1m", Err("line 2: `ioengine=net` is not an engine")),
    ("[hook]\nrw=read\nsize=1m\nexec_prerun=reboot", Err("line 4: `exec_prerun=reboot` runs a command")),
    ("[odd]\nrw=read\nsize=1m\nno_such_option=1", Err("line 4: `no_such_option=1` is not an option known")),
    ("[odd]\nrw=read\nsize=1m\npercentage_random=200", Err("fio rejects")),
    ("[global-x]\nsize=1m\n[a]\nrw=write", Ok("a")),
    ("[load]\n; directory=${BAKEOFF_TEST_NONE}\nsize=1m\nrw=write\nbs=64k", Ok("load")),
    ("[a]\nrw=write\nsize=1m\nfilename=sub/x", Ok("a")),
    ("[/dev/loop77]\nrw=write\nsize=4m", Err("line 1: `[/dev/loop77]` names a device")),
    ("[../../../var/tmp/escaped]\nrw=write\nsize=1m", Err("names a path")),
    (
        "[global]\nfilename=/dev/loop77\n[a]\nfilename=x\nsize=1m\nrw=write",
        Err("line 2: `filename=/dev/loop77` names a device"),
    ),
    (
        "[a]\nfilename=${BAKEOFF_TEST_DEVICE}\nsize=4m\nrw=write",
        Err("`filename=/dev/loop77`, from `filename=${BAKEOFF_TEST_DEVICE}`, names"),
    ),
    ("[a]\ndirectory=${BAKEOFF_TEST_FOLDER}\nsize=1m\nrw=write", Err("a path outside")),
    (
        "[a]\nexec_${BAKEOFF_TEST_WHEN}=touch x\nsize=1m\nrw=write",
        Err("from `exec_${BAKEOFF_TEST_WHEN}=touch x`, runs a command"),
    ),
    ("[a]\nsize=1m\nrw=randtrim", Err("trims devices")),
    ("[a]\nsize=1m\nrw=randrw\nunified_rw_reporting=1", Err("line 4: `unified_rw_reporting=1` adds up")),
    ("[a]\nsize=1m\nrw=read\nioengine=libaio\niodepth=16\nio_submit_mode=offload", Err("hang forever")),
    ("[a]\nsize=1m\nrw=read\nioengine=cpuio", Err("is not an engine")),
    ("[a]\nsize=1m\n--rw=read", Err("line 3: `--rw=read` is not an option")),
    ("[global]\nrw=read", Err("no job")),
];

#[test]
fn job_files_of_the_common_forms_are_planned_or_refused_with_a_reason() {
    needs!(root, fio);
    let place = Place::new();
    for (text, expected) in FORMS {
        place.write("job.fio", text);
        let output = place.shell(
            "BAKEOFF_TEST_DEVICE=/dev/loop77 BAKEOFF_TEST_FOLDER=/srv BAKEOFF_TEST_WHEN=prerun \
             $BAKEOFF plan job.fio --fs ext4 --image 400MiB --commands",
        );
        match expected {
            Ok(operation) => {
                let plan = output.well().out;
                assert!(plan.contains(&format!("# fio-job/{operation}")), "{text}: {operation} is not in {plan}");
            }
            Err(why) => drop(output.refused(&[why])),
        }
    }
}

#[test]
fn variables_are_taken_from_the_environment_and_are_there_or_named() {
    needs!(root, fio);
    let place = Place::new();
    place.write("job.fio", "[a]\nrw=read\nsize=${BAKEOFF_TEST_SIZE}");
    place.bakeoff("plan job.fio --fs ext4 --image 400MiB").refused(&["BAKEOFF_TEST_SIZE", "not set"]);
}

#[test]
fn a_job_file_runs_unchanged_and_its_jobs_are_judged() {
    needs!(root, fio, xfs);
    let place = Place::new();
    place.write(
        "mine.fio",
        "[global]\nsize=8m\nbs=4k\n[load]\nrw=write\nbs=1m\n[db]\nstonewall\nrw=randrw\nnumjobs=2\nfsync=64\ngroup_reporting\n\
         [scan]\nstonewall\nrw=read\nbs=128k\nruntime=1\ntime_based\n",
    );
    place
        .bakeoff("run mine.fio --fs ext4,xfs --image 400MiB --samples 3 --seed 7 --no-twin --plain --no-report")
        .well();
    let shown: serde_json::Value = serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON");
    assert_eq!(shown["failures"].as_array().map(Vec::len), Some(0), "{}", shown["failures"]);
    let operations = shown["workloads"][0]["operations"].as_array().expect("operations");
    let named = |at: usize| operations[at]["operation"].as_str().unwrap_or_default().to_owned();
    let names: Vec<String> = (0..operations.len()).map(named).collect();
    assert_eq!(names, ["load:cold", "db-read:cold", "scan:cold", "db-write:cold"]);
    let units: Vec<&str> = operations.iter().filter_map(|one| one["unit"].as_str()).collect();
    assert_eq!(units, ["B/s", "/s", "B/s", "/s"]);
    for operation in operations {
        for result in operation["results"].as_array().expect("results") {
            assert!(result["figure"]["median"].as_f64().is_some_and(|value| value > 0.0), "{operation}");
            // 8 MiB in calls of 4 KiB, twice, half of them reads, three times.
            assert!(result["latency"]["count"].as_u64().is_some_and(|count| count >= 24), "{}", result["latency"]);
        }
    }
    let until = |at: usize| operations[at]["until"].as_str().unwrap_or_default().to_owned();
    assert_eq!([until(0), until(1), until(2)], ["durable", "returned", "returned"].map(str::to_owned));
}

/// The offsets that fio reads in each file, in order.
fn places(folder: &std::path::Path, text: &str) -> BTreeMap<String, Vec<String>> {
    let mut command = std::process::Command::new("fio");
    command.args(["--debug=io", "-"]).current_dir(folder).stdin(std::process::Stdio::piped());
    let mut fio = command.stdout(std::process::Stdio::piped()).spawn().expect("fio starts");
    fio.stdin.take().expect("its input").write_all(text.as_bytes()).expect("its job file");
    let output = String::from_utf8(fio.wait_with_output().expect("fio ends").stdout).expect("text");
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in output.lines().filter(|line| line.contains("complete: io_u")) {
        let part =
            |name: &str| line.split_once(name).map(|(_, rest)| rest.split(',').next().unwrap_or(rest).to_owned());
        places.entry(part("file=").expect("a file")).or_default().push(part("off=").expect("a place"));
    }
    places
}

#[test]
fn jobs_of_a_stage_read_at_the_places_of_the_whole_file() {
    needs!(fio);
    let place = Place::new();
    let text =
        "[global]\nrw=randread\nsize=64k\n[a]\nnumjobs=2\n[b]\nstonewall\n[c]\nstonewall\nnumjobs=2\nrandseed=5\n";
    let whole = places(place.folder(), text);
    assert_eq!(whole.keys().collect::<Vec<_>>(), ["a.0.0", "a.1.0", "b.0.0", "c.0.0", "c.1.0"]);
    let file = fio::JobFile::read(text, &|_| None).expect("a job file");
    assert_eq!(
        places(place.folder(), &fio::JobFile::written(&file.jobs, 0)),
        whole,
        "what is written anew reads the same"
    );
    for (at, earlier) in [(0, 0), (1, 2), (2, 3)] {
        let stage = places(place.folder(), &fio::JobFile::written(&file.jobs[at..=at], earlier));
        assert!(!stage.is_empty());
        for (file, read) in stage {
            assert_eq!(read, whole[&file], "{file}");
        }
    }
}

#[test]
fn a_depth_without_effect_is_remarked() {
    needs!(root, fio);
    let place = Place::new();
    place.write("deep.fio", "[deep]\nioengine=psync\niodepth=32\nrw=randread\nsize=1m\n");
    let plan = place.bakeoff("plan deep.fio --fs ext4 --image 400MiB").well();
    assert!(plan.err.contains("deep.fio line 3: [deep] iodepth=32 has no effect"), "{}", plan.err);
}

#[test]
fn absolute_paths_of_a_job_file_are_mapped_into_the_contenders_folder() {
    needs!(fio);
    let place = Place::new();
    place.write("far.fio", "[global]\ndirectory=/mnt/test\nsize=64k\n[a]\nrw=write\nfilename=/mnt/test/x\n");
    place.bakeoff("plan far.fio --dir .").refused(&["line 2", "is a path outside", "--map /mnt/test=."]);
    place.bakeoff("plan far.fio --dir . --map /mnt/test=/tmp").refused(&["--map /mnt/test=/tmp"]);
    place.bakeoff("plan small-files --dir . --map /mnt/test=.").refused(&["--map is for job files of fio"]);
    place.bakeoff("import far.fio --map /mnt/test=.").refused(&["--map needs --as workload"]);
    place.bakeoff("run far.fio --dir . --map /mnt/test=. --samples 3 --plain --no-report").well();
    place.bakeoff("import --as workload far.fio --map /mnt/test=sub").well();
    assert!(std::fs::read_to_string(place.path("far.toml")).expect("written").contains("sub"));
}

#[test]
fn copies_of_a_job_on_one_file_do_all_of_their_calls_when_translated() {
    needs!(root);
    let place = Place::new();
    place.write("two.fio", "[two]\nrw=randread\nbs=4k\nsize=1m\nfilename=shared\nnumjobs=2\n");
    let import = place.bakeoff("import --as workload two.fio").well();
    assert!(!import.out.contains("left out"), "{}", import.out);
    place.bakeoff("run ./two.toml --fs ext4 --image 400MiB --samples 1 --no-twin --plain --no-report").well();
    let shown: serde_json::Value = serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON");
    let operation = &shown["workloads"][0]["operations"][0];
    assert_eq!(operation["results"][0]["latency"]["count"].as_u64(), Some(512), "{operation}");
}

#[test]
fn a_folder_that_a_variable_names_is_made() {
    needs!(root, fio);
    let place = Place::new();
    place.write("job.fio", "[load]\ndirectory=${BAKEOFF_TEST_PLACE}\nsize=1m\nrw=write\nbs=64k\n");
    let run = "BAKEOFF_TEST_PLACE=sub/folder $BAKEOFF run job.fio --fs ext4 --image 400MiB --samples 1 --no-twin --plain --no-report";
    place.shell(run).well();
    assert!(!place.path("sub").exists(), "it is made in the contender's folder alone");
}

#[test]
fn all_of_many_jobs_side_by_side_are_kept_with_their_latencies() {
    needs!(root, fio);
    let place = Place::new();
    let jobs: String = (1..=20).map(|number| format!("[job{number}]\n")).collect();
    place.write("many.fio", &format!("[global]\nrw=randrw\nsize=512k\nbs=4k\n{jobs}"));
    place.bakeoff("run many.fio --fs ext4 --image 400MiB --samples 1 --no-twin --plain --no-report").well();
    let shown: serde_json::Value = serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON");
    let operations = shown["workloads"][0]["operations"].as_array().expect("operations");
    assert_eq!(operations.len(), 40);
    for operation in operations {
        let latency = &operation["results"][0]["latency"]["count"];
        assert!(latency.as_u64().is_some_and(|count| count > 10), "{operation}");
    }
}

#[test]
fn a_job_file_is_translated_into_a_workload_file_and_runs() {
    needs!(root);
    let place = Place::new();
    place.write(
        "mine.fio",
        "[db]\nrw=randread\nbs=4k\nsize=4m\ndirect=1\nthinktime=5\n[log]\nstonewall\nrw=write\nsize=2m\nfsync=16\n",
    );
    let output: Printed = place.bakeoff("import --as workload mine.fio").well();
    assert!(output.out.contains("mine.toml") && output.out.contains("line 6: thinktime=5"), "{}", output.out);
    place.bakeoff("import --as workload mine.fio").refused(&["mine.toml"]);
    place.bakeoff("run ./mine.toml --fs ext4 --image 400MiB --samples 1 --plain --no-report").well();
    place.write("odd.fio", "[a]\nrw=read\nsize=1m\nbs=4k-8k\n");
    place.write("back.fio", "[back]\nrw=read:-8k\nsize=1m\n");
    let output = place.bakeoff("import --as workload back.fio").well();
    assert!(
        output.out.contains("left out or different from fio: line 2: rw=read:-8k: each call begins"),
        "{}",
        output.out
    );
    place.bakeoff("import --as workload odd.fio").refused(&["line 1: [a] `bs=4k-8k` is not a single size"]);
}
