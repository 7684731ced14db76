//! Contenders in virtual machines: they come to a verdict, and however a guest ends, the machine is clean afterwards.

mod support;

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};
use support::{Place, Said};

const KERNEL: &str = "debian:6.1";

/// Guests are heavy: one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// The turn, where guests can run here; says why where they cannot.
fn guests() -> Option<MutexGuard<'static, ()>> {
    static LACK: OnceLock<Option<String>> = OnceLock::new();
    let lack = LACK.get_or_init(|| {
        if !is_root() {
            return Some("guests need root".into());
        }
        staging::guests_lack()
            .or_else(|| (!staging::kernel_is_here(KERNEL) && !fetched()).then(|| "no kernel to boot".into()))
    });
    if let Some(lack) = lack {
        prerequisites::leave_out("guests", lack);
        return None;
    }
    Some(TURN.lock().unwrap_or_else(|poison| poison.into_inner()))
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|said| said.stdout == b"0\n")
}

/// Whether Debian's kernel can be had: apt knows it, and the network is there.
fn fetched() -> bool {
    staging::fetch_kernel(KERNEL).map_err(|error| println!("{error}")).is_ok()
}

/// A place with a filesystem of its own description, `odd`, whose mkfs does what the test wants.
fn place_with(make: &str) -> Place {
    let place = Place::new();
    let ext4 = include_str!("../../../filesystems/ext4.toml");
    let own = r#"command = ["mkfs.ext4", "-F", "-q", "-L", "{label}", "{options}", "{device}"]"#;
    assert!(ext4.contains(own));
    let odd = ext4.replace(own, &format!("command = [\"sh\", \"-c\", {make:?}]"));
    std::fs::create_dir_all(place.path("config/bakeoff/filesystems")).expect("a folder is made");
    place.write("config/bakeoff/filesystems/odd.toml", &odd);
    place
}

const RUN: &str =
    "run small-files --set files=200 --set some=50 --samples 1 --image 256MiB --plain --no-report --scratch .";

fn failing(place: &Place, more: &str) -> Said {
    let said = place.bakeoff(&format!("{RUN} {more}"));
    assert_eq!(said.status, Some(1), "{said:#?}");
    clean(place);
    said
}

/// Nothing of any guest is left: no process, no socket, no loop device, no file but the ledger.
fn clean(place: &Place) {
    let here = place.folder().display().to_string();
    let machines = machines(&here);
    assert!(machines.is_empty(), "{machines:?} still run");
    let loops = Command::new("losetup").arg("--list").output().expect("losetup answers");
    assert!(!String::from_utf8_lossy(&loops.stdout).contains(&here), "{loops:?}");
    let left: Vec<PathBuf> = std::fs::read_dir(place.folder())
        .expect("the folder is there")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("bakeoff-")))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Ids of QEMU's processes that have a disk and were started in a folder.
fn machines(folder: &str) -> Vec<u32> {
    let folder = PathBuf::from(folder).canonicalize().expect("the folder is there");
    let processes = std::fs::read_dir("/proc").expect("it is there").flatten();
    let ours = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&line);
        let there = std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
        there && ["qemu-system", "virtio-blk"].iter().all(|part| text.contains(part))
    };
    processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).filter(ours).collect()
}

/// Waits until a run has booted a machine with a disk, and gives its id.
fn booted(place: &Place, child: &mut Child) -> u32 {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let found = machines(&place.folder().display().to_string());
        // Its mkfs has begun to write, so it has said hello.
        if let Some(pid) = found.first().filter(|_| written(place)) {
            return *pid;
        }
        assert!(child.try_wait().expect("it can be asked").is_none(), "the run ended before its guest was up");
        assert!(Instant::now() < end, "no guest after two minutes");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether something was written to the image of a run.
fn written(place: &Place) -> bool {
    let entries = std::fs::read_dir(place.folder()).expect("the folder is there").flatten();
    let images = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "img"));
    images.filter_map(|entry| entry.metadata().ok()).any(|facts| facts.blocks() > 0)
}

/// Writes, so that the test sees it, and then takes longer than the test needs to end it; a lost guest is tried again, and nobody ends that one.
const ENDLESS: &str = "dd if=/dev/urandom of={device} bs=1M count=1 conv=fsync; sleep 30";

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().expect("kill starts");
    assert!(sent.success());
}

/// Everything that the ledger says of the last run.
fn exported(place: &Place) -> String {
    place.bakeoff("export --output out.json").well();
    std::fs::read_to_string(place.path("out.json")).expect("it was written")
}

#[test]
fn two_contenders_on_another_kernel_come_to_a_verdict_that_says_what_it_rests_on() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let said = place
        .bakeoff(&format!("run small-files --set files=200 --set some=50 --samples 2 --image 256MiB --plain --no-report --scratch . --fs ext2,ext4 --kernel {KERNEL}"))
        .well();
    clean(&place);
    assert!(said.err.contains("In a virtual machine: ext2 (debian:6.1), ext4 (debian:6.1)"), "{}", said.err);
    let told = exported(&place);
    let emulated = told.contains("\"backend\":\"emulation\"") || told.contains("\"backend\": \"emulation\"");
    let place_named = if emulated { "in an emulated machine" } else { "in a virtual machine on this device" };
    let full = place.bakeoff("show --full").well().out;
    assert!(full.split_whitespace().collect::<Vec<_>>().join(" ").contains(place_named), "{full}");
    if emulated {
        assert!(full.contains("emulated"), "every table says so: {full}");
    }
    assert!(told.contains("[in the guest, 6.1") && told.contains("mkfs.ext4"), "its commands are in the ledger");
    assert!(told.contains("the end of its console"));
}

#[test]
fn the_newest_kernel_of_debian_runs_and_is_recorded_by_its_series() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let listed = place.bakeoff("systems --kernels --json");
    let known: serde_json::Value = serde_json::from_str(&listed.out).unwrap_or_default();
    let kernels = known["kernels"].as_array().cloned().unwrap_or_default();
    let newest = kernels.iter().find(|kernel| kernel["name"] == known["newest"]);
    let reached = known["not_read"].is_null();
    let Some(newest) = newest.filter(|newest| reached || newest["release_here"].is_string()) else {
        let why = known["not_read"].as_str().unwrap_or(&listed.err);
        prerequisites::leave_out("debian_suites", &format!("Debian's suites cannot be read: {why}"));
        return;
    };
    let (name, series) = (newest["name"].as_str().expect("text"), newest["series"].as_str().expect("text"));
    let said = place.bakeoff(&format!("{RUN} --fs ext4,btrfs --kernel debian:newest --no-twin")).well();
    clean(&place);
    assert!(said.err.contains(&format!("ext4 ({name}), btrfs ({name})")), "{}", said.err);
    let told = exported(&place);
    assert!(told.contains(&format!("[in the guest, {series}.")) && told.contains(name), "{}", said.err);
    // The command line stands there as it was typed; what ran is told by its series, since tomorrow the newest is another one.
    assert!(!told.replace(": ", ":").contains("\"kernel\":\"debian:newest\""), "{told}");
}

#[test]
fn what_a_filesystem_of_another_kernel_can_do_is_found_out_there() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let said = place.bakeoff(&format!("features nilfs2 --kernel {KERNEL} --scratch . --json")).well();
    clean(&place);
    let told: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let probed = &told["filesystems"][0];
    assert_eq!((&probed["name"], &probed["kernel"]), (&"nilfs2".into(), &KERNEL.into()));
    let of = |key: &str| {
        let all = probed["features"].as_array().expect("answers");
        all.iter().find(|one| one["key"] == key).expect("asked")["answer"].clone()
    };
    assert_eq!(of("name_bytes")["amount"], 255);
    // What its file says of its tools' scrub or reflinks is nothing: the kernel there was asked.
    assert_eq!((&of("sparse")["has"], &of("reflink")["has"]), (&true.into(), &false.into()), "{told}");
}

#[test]
fn openzfs_competes_where_its_module_was_built() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    if !place.bakeoff("systems").well().out.contains("--fs openzfs runs there") {
        prerequisites::leave_out("openzfs", "OpenZFS' module for guests is not built (make openzfs)");
        return;
    }
    for (kernel, release) in [(KERNEL, "[in the guest, 6.1."), ("debian:6.12", "[in the guest, 6.12.")] {
        let place = Place::new();
        let said = place.bakeoff(&format!("run small-files --set files=100 --set some=20 --samples 1 --image 256MiB --plain --no-report --no-twin --scratch . --fs openzfs --axis mount.recordsize=16k --kernel {kernel}"));
        clean(&place);
        if said.err.contains("does not have zfs") {
            prerequisites::leave_out("openzfs", &format!("OpenZFS' module is not built for {kernel} (make openzfs)"));
            continue;
        }
        let told = exported(&place);
        assert!(told.contains("/usr/lib/bakeoff/openzfs/sbin") && told.contains("recordsize=16k"), "{}", said.err);
        assert!(told.contains(release), "{}", said.err);
        assert!(!told.contains("\"status\":\"failed\""), "{}", said.err);
        assert_eq!(told.contains("its tools in the guest are zfs-2."), kernel != KERNEL, "{}", said.err);
    }
}

#[test]
fn ntfs_competes_and_is_checked_for_space_that_nobody_has() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let lack = place.bakeoff("systems --json").well();
    let known: serde_json::Value = serde_json::from_str(&lack.out).expect("JSON");
    let tools = known["systems"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "ntfs3"));
    let tools = tools.and_then(|one| one["tools"].as_array()).expect("it is listed with its tools");
    if !tools.iter().all(|tool| tool["found"] == true) {
        prerequisites::leave_out("ntfs-3g", "tools of ntfs-3g are missing");
        return;
    }
    place.bakeoff(&format!("{RUN} --fs ntfs3 --no-twin")).well();
    clean(&place);
    let told = exported(&place);
    assert!(told.contains("[in the guest, 6.12") && told.contains("ntfsresize --info"));
}

#[test]
fn bcachefs_competes_where_its_tools_were_unpacked() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    if !place.bakeoff("systems").well().out.contains("--fs bcachefs runs there") {
        prerequisites::leave_out("bcachefs", "bcachefs's tools for guests are not unpacked (make bcachefs)");
        return;
    }
    place.bakeoff(&format!("{RUN} --fs bcachefs --no-twin --axis mkfs.compression=lz4")).well();
    clean(&place);
    let told = exported(&place);
    assert!(told.contains("/usr/lib/bakeoff/bcachefs/sbin") && told.contains("[in the guest, 6.12"));
}

#[test]
fn a_kernel_that_panics_is_one_failed_trial_with_the_end_of_its_console() {
    let Some(_turn) = guests() else { return };
    let place = place_with("echo c > /proc/sysrq-trigger");
    let said = failing(&place, &format!("--fs odd --kernel {KERNEL}"));
    assert!(said.err.contains("its kernel panicked: sysrq triggered crash"), "{}", said.err);
    assert!(exported(&place).contains("Kernel panic - not syncing"), "the console is in the ledger");
}

#[test]
fn a_guest_that_runs_out_of_memory_is_one_failed_trial() {
    let Some(_turn) = guests() else { return };
    // A line that never ends, kept whole.
    let place = place_with("tail /dev/zero");
    let said = failing(&place, &format!("--fs odd --kernel {KERNEL}"));
    assert!(said.err.contains("the guest had run out of memory"), "{}", said.err);
}

#[test]
fn a_killed_machine_is_one_failed_trial() {
    let Some(_turn) = guests() else { return };
    let place = place_with(ENDLESS);
    let mut child = place.start(&format!("{RUN} --fs odd --kernel {KERNEL}"));
    signal(booted(&place, &mut child), "KILL");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
    clean(&place);
    let told = exported(&place);
    assert!(told.contains("the guest was lost: QEMU"), "{told}");
}

#[test]
fn a_guest_that_hangs_is_noticed_by_its_silence() {
    let Some(_turn) = guests() else { return };
    let place = place_with(ENDLESS);
    let mut child = place.start_with(&format!("{RUN} --fs odd --kernel {KERNEL}"), &[("BAKEOFF_GUEST_SILENCE", "5")]);
    let machine = booted(&place, &mut child);
    signal(machine, "STOP");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
    clean(&place);
    assert!(exported(&place).contains("it said nothing for 5 s and was ended"));
}

#[test]
fn a_file_that_is_no_kernel_is_refused_before_anything_is_started() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let file = place.write("vmlinuz", "this is no kernel\n");
    let said = failing(&place, &format!("--fs ext4 --kernel {}", file.display()));
    assert!(said.err.contains("is not a kernel for x86"), "{}", said.err);
    let said = place.bakeoff(&format!("{RUN} --fs ext4 --kernel debian:6"));
    assert_eq!(said.status, Some(2), "{said:#?}");
    assert!(said.err.contains("debian:6.12"), "{}", said.err);
    let said = place.bakeoff(&format!("{RUN} --fs ext4 --kernel debian:2.4"));
    // Where the suites cannot be read, nothing can be said against it before its trial.
    if !said.err.contains("list of Debian's suites cannot be read") {
        assert_eq!(said.status, Some(2), "{said:#?}");
        let named = ["debian:2.4 is in none of Debian's suites", "debian:newest, debian:6.1", "systems --kernels"];
        assert!(named.iter().all(|words| said.err.contains(words)), "{}", said.err);
    }
}

#[test]
fn a_killed_run_takes_its_guest_with_it_and_the_rest_is_cleaned_by_its_mark() {
    let Some(_turn) = guests() else { return };
    let place = place_with(ENDLESS);
    let mut child = place.start(&format!("{RUN} --fs odd --kernel {KERNEL}"));
    booted(&place, &mut child);
    killed(&place, &mut child);
    place.bakeoff(&format!("clean --scratch {}", place.folder().display())).well();
    clean(&place);
}

/// Kills whoever started a machine, and waits until that is gone, too: nobody cleans up, and its guest is in the midst of something.
fn killed(place: &Place, child: &mut Child) {
    child.kill().expect("it is killed");
    child.wait().expect("it is reaped");
    let end = Instant::now() + Duration::from_secs(10);
    while !machines(&place.folder().display().to_string()).is_empty() {
        assert!(Instant::now() < end, "QEMU outlives the run");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn killed_power_cuts_and_faults_take_their_guest_with_them_and_the_rest_is_cleaned() {
    let Some(_turn) = guests() else { return };
    let disks = std::path::Path::new("/run/bakeoff");
    std::fs::create_dir_all(disks).expect("the folder is there");
    let before = support::leftovers(disks);
    for words in ["powercut --fs jfs --unsynced 30s", "faults --fs jfs --fault slow"] {
        let place = Place::new();
        let mut child = place.start(words);
        let end = Instant::now() + Duration::from_secs(120);
        while machines(&place.folder().display().to_string()).is_empty() {
            assert!(child.try_wait().expect("it can be asked").is_none(), "{words}: it ended before its guest was up");
            assert!(Instant::now() < end, "{words}: no guest after two minutes");
            std::thread::sleep(Duration::from_millis(20));
        }
        killed(&place, &mut child);
        place.bakeoff("clean").well();
        let now = support::leftovers(disks);
        assert!(now.len() <= before.len(), "{words}: {now:?}");
        clean(&place);
    }
}

#[test]
fn a_guest_limits_memory_by_version_two_of_control_groups_and_says_when_it_was_too_little() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let run = RUN.replace("--samples 1", "--samples 1 --fs ext4 --no-twin");
    place.bakeoff(&format!("{run} --kernel {KERNEL} --axis limit.memory=1M,128M"));
    let ledger = ledger::Ledger::open(&place.path("bakeoff.db"), ledger::Access::Read).expect("the ledger opens");
    let id = ledger.run(None).expect("the run").id;
    let trials = ledger.trials(&id).expect("trials");
    // A guest that a busy machine does not boot in time is tried again.
    let reasons: Vec<&str> = trials.iter().filter_map(|trial| trial.reason.as_deref()).collect();
    let starved =
        |why: &&str| why.contains("limit.memory 1M is less than the engine needs") && why.contains("memory.events");
    assert!(reasons.iter().any(starved), "{reasons:?}");
    let ended = trials.iter().find(|trial| trial.contender == 1 && trial.closing.is_some());
    let ended = ended.unwrap_or_else(|| panic!("no trial came to its end: {reasons:?}"));
    let found = ended.found.as_ref().expect("what was found");
    let limit = found.options.iter().find(|option| option.asked == "limit.memory 128M").expect("read back");
    assert_eq!(limit.found.as_deref(), Some("134217728"));
    assert!(limit.by.starts_with("/sys/fs/cgroup/bakeoff-") && limit.by.ends_with("/memory.max"), "{}", limit.by);
    let after = &ended.closing.as_ref().expect("closing").axes;
    assert!(after.iter().any(|one| one.by.ends_with("memory.current") && one.found.is_some()), "{after:?}");
    clean(&place);
}

/// `powercut` of a contender in a guest, few states and a short work.
fn power_cuts(place: &Place, fs: &str, states: u32) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
    command.current_dir(place.folder()).args(["powercut", "--json", "--unsynced", "1s", "--seed", "7", "--fs", fs]);
    command.arg("--states").arg(states.to_string());
    command
}

fn contender(answer: &[u8]) -> serde_json::Value {
    let all: serde_json::Value = serde_json::from_slice(answer).expect("JSON");
    assert_eq!(all["refused"].as_array().map(Vec::len), Some(0), "{all}");
    all["contenders"][0].clone()
}

fn broken_promises(of: &serde_json::Value) -> Vec<&str> {
    let promises = of["promises"].as_array().expect("promises");
    let broken = promises.iter().filter(|one| one["strength"] == "promised" && one["given"] == "broken");
    broken.filter_map(|one| one["name"].as_str()).collect()
}

#[test]
fn a_filesystem_of_a_guest_that_sends_no_flush_breaks_what_it_promised() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let done = power_cuts(&place, "jfs", 15).output().expect("it starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let one = contender(&done.stdout);
    assert_eq!((one["guest"].as_bool(), one["flushes"].as_u64()), (Some(true), Some(0)), "{one}");
    assert!(one["kernel"].as_str().is_some_and(|kernel| kernel.starts_with("6.1.")), "{}", one["kernel"]);
    assert!(broken_promises(&one).len() > 3, "{one}");
    // Its log was replayed before it was mounted, as at boot.
    assert_eq!((one["states"].as_u64(), one["mounts"]["refused"]["count"].as_u64()), (Some(15), Some(0)), "{one}");
    clean(&place);
}

/// The faults of a contender in a guest, one round of each.
fn faults(place: &Place, fs: &str, faults: &str) -> Vec<serde_json::Value> {
    let said = place.bakeoff(&format!("faults --json --seed 7 --rounds 1 --fs {fs} --fault {faults}")).well();
    let one = contender(said.out.as_bytes());
    assert_eq!(one["guest"].as_bool(), Some(true), "{one}");
    assert!(one["kernel"].as_str().is_some_and(|kernel| kernel.starts_with("6.1.")), "{}", one["kernel"]);
    clean(place);
    one["faults"].as_array().expect("faults").clone()
}

#[test]
fn the_disk_of_a_guest_is_harmed_and_what_its_filesystem_makes_of_it_is_seen_there() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let all = faults(&place, "jfs", "none,bit-flips,full-below,dead");
    let [none, flips, full, dead] = &all[..] else { panic!("{all:?}") };
    assert_eq!((none["verdict"].as_str(), none["after"]["right"].as_u64()), (Some("unharmed"), Some(608)), "{none}");
    assert_eq!((none["acknowledged"].as_u64(), none["kept"]["right"].as_u64()), (Some(120), Some(120)), "{none}");
    assert_eq!((flips["verdict"].as_str(), flips["blocks"].as_u64()), (Some("silent"), Some(64)), "{flips}");
    assert!(flips["read"]["wrong"].as_u64() > Some(20), "JFS has no checksums: {flips}");
    // A full disk is an error of the guest's, and does not stop its machine.
    for fault in [full, dead] {
        assert_eq!((fault["verdict"].as_str(), fault["kernel_lost"].as_u64()), (Some("stopped"), Some(0)), "{fault}");
        assert!(fault["met"].as_u64() > Some(0) && fault["failed_calls"].as_u64() > Some(0), "{fault}");
        assert_eq!(fault["after"]["right"].as_u64(), Some(608), "{fault}");
    }
}

#[test]
fn states_are_mounted_in_a_guest_of_a_kernel_that_is_here_where_that_is_asked_for_and_the_answer_says_so() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let mut cuts = power_cuts(&place, "ext4", 10);
    let done = cuts.args(["--in", "guest"]).output().expect("it starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let all: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let by = &all["mounted_by"];
    assert_eq!((by["place"].as_str(), by["reason"].as_str()), (Some("guest"), Some("asked")), "{by}");
    assert_eq!(by["kernel"].as_str(), staging::kernel_at_hand().as_deref(), "{by}");
    let one = contender(&done.stdout);
    assert_eq!((one["guest"].as_bool(), one["contender"].as_str()), (Some(true), Some("ext4")), "{one}");
    assert_eq!(broken_promises(&one), [""; 0], "{one}");
    clean(&place);
}

#[test]
fn a_kernel_that_is_lost_over_a_state_costs_a_boot_and_not_the_rest() {
    use std::io::BufRead;
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let mut child = power_cuts(&place, "exfat", 20)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let told = std::io::BufReader::new(child.stderr.take().expect("piped"));
    let mut lines = told.lines().map_while(Result::ok);
    let at_its_states = lines.find(|line| line.contains("of 20 states looked at"));
    assert!(at_its_states.is_some(), "it ended before its states");
    let machines = machines(&place.folder().display().to_string());
    assert_eq!(machines.len(), 1, "one machine");
    signal(machines[0], "KILL");
    let rest: Vec<String> = lines.collect();
    let done = child.wait_with_output().expect("it ends");
    assert!(done.status.success(), "{rest:?}");
    let one = contender(&done.stdout);
    assert_eq!((one["states"].as_u64(), one["mounts"]["kernel_lost"]["count"].as_u64()), (Some(20), Some(1)), "{one}");
    // What it knows of the others is not lost, and exFAT keeps what is promised, but has no hard links.
    assert_eq!(broken_promises(&one), [""; 0], "{one}");
    let link = one["promises"].as_array().and_then(|all| all.iter().find(|promise| promise["name"] == "link"));
    assert_eq!(link.map(|link| &link["given"]), Some(&serde_json::json!("untested")));
    clean(&place);
}

/// The trials of the last run.
fn trials(place: &Place) -> Vec<ledger::TrialRecord> {
    let ledger = ledger::Ledger::open(&place.path("bakeoff.db"), ledger::Access::Read).expect("the ledger opens");
    ledger.trials(&ledger.run(None).expect("the run").id).expect("trials")
}

/// What a trial's dumpe2fs said after a word at the beginning of a line.
fn of_superblock(trial: &ledger::TrialRecord, word: &str) -> String {
    let said = trial.commands.iter().filter(|command| command.line.contains("dumpe2fs")).map(|command| &command.output);
    let found = said.flat_map(|output| output.lines()).find_map(|line| line.strip_prefix(word));
    found.unwrap_or_else(|| panic!("no {word} among {:?}", trial.commands)).trim().to_owned()
}

/// Seconds since 1970 of a time that dumpe2fs told in a guest, where no zone is set.
fn seconds(told: &str) -> i64 {
    let said = Command::new("date").args(["-u", "+%s", "-d", told]).output().expect("date starts");
    String::from_utf8_lossy(&said.stdout).trim().parse().unwrap_or_else(|_| panic!("{told} is no time"))
}

#[test]
fn an_emulated_guest_is_booted_once_and_each_trial_has_a_copy_with_a_time_and_randomness_of_its_own() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let run = RUN.replace("--samples 1", "--samples 2");
    place.bakeoff(&format!("{run} --fs ext4 --no-twin --kernel {KERNEL}")).well();
    clean(&place);
    let trials = trials(&place);
    let emulated = |trial: &ledger::TrialRecord| {
        trial.found.as_ref().is_some_and(|found| found.backend == Some(records::Backend::Emulation))
    };
    if !trials.iter().all(emulated) {
        prerequisites::leave_out("emulation", "guests run under KVM here, where each is booted");
        return;
    }
    let starts = |word: &str| {
        let ended = |command: &&records::CommandRecord| {
            command.line.contains("qemu-system") && command.output.contains("console")
        };
        let commands = trials.iter().flat_map(|trial| &trial.commands).filter(ended);
        commands.filter(|command| command.line.contains(word)).count()
    };
    assert_eq!((starts("driver=null-co"), starts("-incoming")), (1, trials.len()), "{trials:?}");
    let ids: std::collections::BTreeSet<String> =
        trials.iter().map(|trial| of_superblock(trial, "Filesystem UUID:")).collect();
    assert_eq!(ids.len(), trials.len(), "{ids:?}");
    for trial in &trials {
        // Both ends are cut off to whole seconds.
        let (made, began) = (seconds(&of_superblock(trial, "Filesystem created:")), trial.began_ms / 1000);
        assert!((began..=trial.ended_ms / 1000).contains(&made), "made at {made}, begun at {began}");
    }
}

#[test]
fn where_a_guest_cannot_be_restored_it_is_booted_and_its_trial_says_so() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let real = system::command::find_program("qemu-system-x86_64").expect("guests can run");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *-incoming*) echo nothing comes in >&2; exit 1;; esac\nexec {} \"$@\"\n",
        real.display()
    );
    let wrapper = place.write("qemu-system-x86_64", &script);
    let made = Command::new("chmod").arg("+x").arg(&wrapper).status().expect("chmod starts");
    assert!(made.success());
    let path = format!("{}:{}", place.folder().display(), std::env::var("PATH").unwrap_or_default());
    let mut child = place.start_with(&format!("{RUN} --fs ext4 --no-twin --kernel {KERNEL}"), &[("PATH", &path)]);
    assert!(child.wait().expect("it ends").success());
    clean(&place);
    let trials = trials(&place);
    let done = trials.iter().find(|trial| trial.closing.is_some()).expect("a trial that came to its end");
    let found = done.found.as_ref().expect("what was found");
    if found.backend == Some(records::Backend::Emulation) {
        let said = |remark: &&String| remark.contains("not restored") && remark.contains("nothing comes in");
        assert!(found.remarks.iter().any(|remark| said(&remark)), "{:?}", found.remarks);
    }
}

#[test]
fn instructions_are_counted_alike_in_each_trial_and_no_time_is_judged() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let run = RUN.replace("--samples 1", "--samples 2");
    place.bakeoff(&format!("{run} --fs ext4 --no-twin --count-instructions --kernel {KERNEL}")).well();
    clean(&place);
    let counted = |trial: &ledger::TrialRecord, word: &str| {
        let create = trial.phases.iter().find(|phase| phase.name == "create").expect("it creates");
        *create.outcome.told.get(word).unwrap_or_else(|| panic!("no {word} in {:?}", create.outcome.told))
    };
    let trials = trials(&place);
    let own: Vec<f64> = trials.iter().map(|trial| counted(trial, "instructions")).collect();
    assert!(trials.iter().zip(&own).all(|(trial, own)| counted(trial, "all-instructions") > *own), "{own:?}");
    let (least, most) = (own.iter().copied().fold(f64::MAX, f64::min), own.iter().copied().fold(0.0, f64::max));
    assert!(least > 1000.0 && (most - least) / least < 0.05, "{own:?}");
    let shown: serde_json::Value = serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON");
    let shown = shown.to_string();
    assert!(shown.contains("create instructions") && shown.contains("instructions/op"), "{shown}");
    assert!(!shown.contains("\"items/s\"") && !shown.contains("\"unit\":\"/s\""), "{shown}");
    let refused = place.bakeoff(&format!("{RUN} --fs ext4 --count-instructions"));
    assert!(refused.status != Some(0) && refused.err.contains("guest.clock is about virtual machines"), "{refused:?}");
}
