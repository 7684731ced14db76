//! Power cuts from a user's view, on real filesystems: guarantees are kept, disks that ignore flushes are detected, and kills leave nothing.

mod support;

use disk::{Disk, Event, Kept, State};
use prerequisites::needs;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use support::leftovers;

/// One at a time: leftovers of one test must not be taken for another's.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poison| poison.into_inner())
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_bakeoff");

/// Output of `powercut` with these options, few states and little work.
fn cut(words: &[&str]) -> Value {
    let done = Command::new(PROGRAM)
        .args(["powercut", "--json", "--in", "here", "--unsynced", "2s", "--seed", "7"])
        .args(words)
        .output()
        .expect("it starts");
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).expect("JSON")
}

/// The broken guarantees of a contender with this strength.
fn broken(of: &Value, strength: &str) -> Vec<String> {
    let promises = of["promises"].as_array().expect("promises");
    let those = promises.iter().filter(|one| one["strength"] == strength && one["given"] == "broken");
    those.map(|one| format!("{}: {}", one["name"], one["example"])).collect()
}

/// Loop devices and mounts below the folder of served disks.
fn left() -> Vec<String> {
    let folder = Path::new("/run/bakeoff");
    std::fs::create_dir_all(folder).expect("the folder is there");
    leftovers(folder)
}

#[test]
fn journaling_filesystems_keep_what_they_promise() {
    needs!(root, loop_devices, xfs, btrfs);
    let _alone = alone();
    let all = cut(&["--fs", "ext4,xfs,btrfs", "--states", "60"]);
    assert_eq!(all["refused"].as_array().map(Vec::len), Some(0), "{all}");
    for one in all["contenders"].as_array().expect("contenders") {
        let name = &one["contender"];
        assert_eq!(broken(one, "promised"), [""; 0], "{name}");
        assert_eq!(one["contradictions"].as_array().map(Vec::len), Some(0), "{name}");
        let mounts = &one["mounts"];
        // btrfs and XFS do not survive a superblock or folder with one sector new and the next one old (docs/power-cut.md).
        let (refused, torn) = (&mounts["refused"]["count"], &mounts["refused_torn"]["count"]);
        assert_eq!((one["states"].as_u64(), refused), (Some(60), torn), "{name}: {}", mounts["refusal"]);
        assert_eq!(one["mounts"]["damaged"]["count"], 0, "{name}: {}", one["mounts"]["damage"]);
        assert!(one["mounts"]["damaged"]["of"].as_u64() > Some(1), "{name} was checked");
        assert!(one["flushes"].as_u64() > Some(50), "{name} sent flushes: {}", one["flushes"]);
        assert!(one["lost_seconds"]["worst"].as_f64() > Some(0.0), "{name} lost some of what was not synced");
    }
}

#[test]
fn a_journal_of_whole_blocks_survives_torn_blocks() {
    needs!(root, loop_devices);
    let _alone = alone();
    let all = cut(&["--fs", "ext4", "--states", "60", "--torn"]);
    let one = &all["contenders"][0];
    assert_eq!((&one["torn"], broken(one, "promised")), (&Value::Bool(true), vec![]), "{one}");
    let torn = &one["mounts"]["refused_torn"];
    assert!(torn["count"] == 0 && torn["of"].as_u64() > Some(30), "a write of 512 bytes is whole or not: {torn}");
}

#[test]
fn on_a_disk_that_lies_about_its_flushes_every_filesystem_fails() {
    needs!(root, loop_devices, xfs, btrfs);
    let _alone = alone();
    let all = cut(&["--fs", "ext4,xfs,btrfs", "--states", "60", "--lying-disk"]);
    for one in all["contenders"].as_array().expect("contenders") {
        assert!(!broken(one, "promised").is_empty(), "{} broke nothing", one["contender"]);
    }
}

#[test]
fn a_filesystem_without_a_journal_breaks_promises() {
    needs!(root, loop_devices);
    let _alone = alone();
    let all = cut(&["--fs", "ext2", "--states", "100"]);
    let one = &all["contenders"][0];
    let amiss = broken(one, "promised").len() as u64
        + one["mounts"]["refused"]["count"].as_u64().expect("a count")
        + one["mounts"]["damaged"]["count"].as_u64().expect("a count");
    assert!(amiss > 0, "{one}");
}

#[test]
fn a_served_disk_offers_what_a_cut_leaves_of_it() {
    needs!(root);
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let mut serve = Command::new(PROGRAM);
    let mut disk =
        Disk::start(serve.arg("serve-disk").arg(folder.path()).arg((64u64 << 20).to_string())).expect("it serves");
    let path = folder.path().join("a.img");
    let file = File::options().read(true).write(true).create_new(true).open(&path).expect("made");
    file.set_len(1 << 20).expect("made larger");
    // In initialised memory: of a constant that is not yet read from the program's file, the kernel sends the present pages first.
    let block = |byte: u8| vec![byte; 4096];
    disk.record("a.img").expect("recorded");
    file.write_all_at(&block(1), 0).expect("written");
    file.sync_all().expect("synced");
    disk.mark(42).expect("marked");
    file.write_all_at(&block(2), 0).expect("written");
    file.write_all_at(&block(3), 8192).expect("written");
    let record = disk.stop().expect("stopped");
    let events: Vec<Event> = record.moments.iter().map(|moment| moment.event).collect();
    use Event::{Completed, FlushSubmitted, Flushed, Marked, Submitted};
    let wanted = [
        Submitted(0),
        Completed(0),
        FlushSubmitted(0),
        Flushed(0),
        Marked(42),
        Submitted(1),
        Completed(1),
        Submitted(2),
        Completed(2),
    ];
    assert_eq!(events, wanted);
    drop(file);
    let mut found = |kept, lying| {
        disk.offer(&State { cut: events.len(), kept }, lying).expect("offered");
        // Opened again, so that nothing of the last state is cached.
        let mut bytes = Vec::new();
        File::open(&path).expect("opened").read_to_end(&mut bytes).expect("read");
        [bytes[0], bytes[8192]]
    };
    assert_eq!(found(Kept::Nothing, false), [1, 0]);
    assert_eq!(found(Kept::Everything, false), [2, 3]);
    assert_eq!(found(Kept::AllBut(0), false), [1, 3]);
    assert_eq!(found(Kept::Nothing, true), [0, 0], "a disk that lies");
    assert!(disk.offer(&State { cut: 1000, kept: Kept::Nothing }, false).is_err(), "no state of the record");
    disk.end().expect("ended");
    assert!(!path.exists(), "unmounted");
}

/// A process that is killed on drop, however the test ends.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn started(folder: &Path) -> Started {
    let log = File::create(folder.join("log")).expect("a log");
    let child = Command::new(PROGRAM)
        .args(["powercut", "--in", "here", "--fs", "ext4", "--states", "5000", "--unsynced", "1s"])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("it starts");
    let started = Started(child);
    let end = Instant::now() + Duration::from_secs(120);
    while !std::fs::read_to_string(folder.join("log")).unwrap_or_default().contains("100 of 5000") {
        assert!(Instant::now() < end, "no state was looked at: {:?}", std::fs::read_to_string(folder.join("log")));
        std::thread::sleep(Duration::from_millis(50));
    }
    started
}

/// The process that serves the disk of process `parent`.
fn server_of(parent: u32) -> u32 {
    let children = PathBuf::from(format!("/proc/{parent}/task/{parent}/children"));
    let all = std::fs::read_to_string(children).expect("its children");
    let serves = |pid: &&str| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("serve-disk")
    };
    all.split_whitespace().find(serves).expect("it serves").parse().expect("a number")
}

#[test]
fn a_killed_run_leaves_nothing() {
    needs!(root, loop_devices);
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let before = left();
    for server in [false, true] {
        let mut run = started(folder.path());
        let victim = if server { server_of(run.0.id()) } else { run.0.id() };
        let sent = Command::new("kill").args(["-KILL", &victim.to_string()]).status().expect("kill starts");
        assert!(sent.success());
        let ended = run.0.wait().expect("it ends");
        assert!(!ended.success(), "a run whose disk is gone has no answer");
        let cleaned = Command::new(PROGRAM).arg("clean").output().expect("it starts");
        let output = String::from_utf8_lossy(&cleaned.stdout).into_owned() + &String::from_utf8_lossy(&cleaned.stderr);
        assert!(cleaned.status.success(), "server {server}: {output}");
        // The kernel unmounts the mounts of a killed process's namespace some time after its end.
        support::until(Duration::from_secs(30), "a clean machine", || (left().len() <= before.len()).then_some(()));
    }
}

/// Replaces a file repeatedly and acknowledges each version once it is renamed: with syncs, or without.
fn replacing(syncs: bool) -> Value {
    let (file, folder) = if syncs { ("sync f.new;", "sync .;") } else { ("", "") };
    let work = format!("for i in $(seq 80); do echo $i >f.new; {file} mv f.new f; {folder} echo $i; sleep 0.01; done");
    let check = "last=$(tail -n 1); test -z \"$last\" || test \"$(cat f)\" -ge \"$last\"";
    let (command, check) = (format!("sh -c '{work}'"), format!("sh -c '{check}'"));
    let all = cut(&["--fs", "ext4", "--states", "80", "--command", &command, "--check", &check]);
    all["contenders"][0]["program"].clone()
}

#[test]
fn a_program_that_renames_without_fsync_is_caught_and_a_right_one_is_not() {
    needs!(root, loop_devices);
    let _alone = alone();
    let right = replacing(true);
    assert_eq!((right["given"].as_str(), right["acknowledged"].as_u64()), (Some("kept"), Some(80)), "{right}");
    let wrong = replacing(false);
    assert_eq!(wrong["given"], "broken", "{wrong}");
    assert!(wrong["lost"]["count"].as_u64() > Some(20), "{wrong}");
}

/// Creates, syncs and acknowledges new files; `then` runs after each. Returns whether all was kept, and what it relies on beyond POSIX.
fn making(then: &str) -> (Value, Value) {
    let work = format!("for i in $(seq 40); do echo $i >f$i; sync f$i; {then} echo $i; done");
    let check = "while read n; do grep -qxs $n f$n || { echo f$n is gone >&2; exit 1; }; done";
    let (command, check) = (format!("sh -c '{work}'"), format!("sh -c '{check}'"));
    let all = cut(&["--fs", "ext4", "--states", "40", "--command", &command, "--check", &check]);
    (all["contenders"][0]["program"]["given"].clone(), all["beyond_posix"].clone())
}

#[test]
fn a_program_without_fsync_of_the_folder_passes_with_a_note_on_what_posix_promises() {
    needs!(root, loop_devices, strace);
    let _alone = alone();
    let (given, relies) = making("");
    assert_eq!((given.as_str(), relies["count"].as_u64()), (Some("kept"), Some(40)), "{relies}");
    assert!(relies["found"].as_str().is_some_and(|output| output.ends_with("f1 is gone")), "{relies}");
    let (given, relies) = making("sync .;");
    let nothing = serde_json::json!({ "names": [], "count": 0, "found": null, "unseen": null });
    assert_eq!((given.as_str(), relies), (Some("kept"), nothing));
}

#[test]
fn of_a_program_that_may_sync_unseen_or_whose_check_passes_nothing_is_claimed() {
    needs!(root, loop_devices, strace, python);
    let _alone = alone();
    let unseen = "it uses io_uring or io_submit, whose syncs a recording may miss";
    for (also, expected) in [
        ("", serde_json::json!({ "names": ["f"], "count": 1, "found": null, "unseen": null })),
        // io_uring_setup(2), which fails.
        (
            "python3 -c \"import ctypes; ctypes.CDLL(None).syscall(425, 1, None)\";",
            serde_json::json!({ "names": [], "count": 0, "found": null, "unseen": unseen }),
        ),
    ] {
        let command = format!("sh -c 'echo 1 >f; sync f; {also} echo done'");
        let all = cut(&["--fs", "ext4", "--states", "10", "--command", &command, "--check", "true"]);
        assert_eq!(all["beyond_posix"], expected);
    }
}

#[test]
fn fsync_on_zfs_fuse_is_found_to_write_nothing_and_every_state_of_it_is_imported() {
    needs!(root, loop_devices, zfs);
    let _alone = alone();
    let work = "for i in $(seq 40); do echo $i >f$i; sync f$i; sync .; echo $i; done";
    let check = "while read n; do grep -qx $n f$n || exit 1; done";
    let (command, check) = (format!("sh -c '{work}'"), format!("sh -c '{check}'"));
    let all = cut(&["--fs", "zfs", "--states", "22", "--command", &command, "--check", &check]);
    let one = &all["contenders"][0];
    assert_eq!(
        (one["program"]["given"].as_str(), one["mounts"]["refused"]["count"].as_u64()),
        (Some("broken"), Some(0))
    );
    // Every twentieth is checked, and the check fails; the next one is imported all the same.
    assert_eq!((one["mounts"]["damaged"]["of"].as_u64(), one["states"].as_u64()), (Some(2), Some(22)), "{one}");
}

/// Runs a program of `scripts/powercut` on these contenders.
fn shipped(name: &str, fs: &str, states: &str) -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/powercut").join(name);
    let step = |step: &str| format!("{} {step}", script.display());
    let (prepare, command, check) = (step("prepare"), step("work"), step("check"));
    let words = ["--fs", fs, "--states", states, "--prepare", &prepare, "--command", &command, "--check", &check];
    let all = cut(&words);
    all["contenders"].as_array().expect("contenders").iter().map(|one| one["program"].clone()).collect()
}

#[test]
fn sqlite_keeps_every_row_that_it_acknowledged() {
    needs!(root, loop_devices, xfs, btrfs, sqlite);
    let _alone = alone();
    for program in shipped("sqlite", "ext4,xfs,btrfs", "40") {
        assert_eq!(
            (program["given"].as_str(), program["acknowledged"].as_u64()),
            (Some("kept"), Some(150)),
            "{program}"
        );
    }
}

#[test]
fn postgresql_keeps_every_row_that_it_acknowledged() {
    needs!(root, loop_devices, postgres);
    let _alone = alone();
    for program in shipped("postgres", "ext4", "20") {
        assert_eq!(
            (program["given"].as_str(), program["acknowledged"].as_u64()),
            (Some("kept"), Some(300)),
            "{program}"
        );
    }
}

#[test]
fn git_as_it_is_loses_commits_that_it_reported() {
    needs!(root, loop_devices, git);
    let _alone = alone();
    for program in shipped("git", "ext4", "40") {
        assert_eq!(program["given"], "broken", "{program}");
    }
}

#[test]
fn a_kept_state_shows_the_same_finding_again() {
    needs!(root, loop_devices);
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let keep = folder.path().display().to_string();
    let all = cut(&["--fs", "ext4", "--lying-disk", "--states", "40", "--image", "128M", "--keep", &keep]);
    let one = &all["contenders"][0];
    let kept: Vec<&str> = one["kept"].as_array().expect("kept").iter().filter_map(Value::as_str).collect();
    let seen =
        one["promises"].as_array().expect("promises").iter().filter(|promise| promise["given"] == "broken").count();
    assert!(seen > 3 && kept.len() >= seen, "{seen} broken, kept {kept:?}");
    let again = |path: &str| {
        let done = Command::new(PROGRAM).args(["powercut", "--again", path]).output().expect("it starts");
        let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        (done.status.code(), text)
    };
    for path in kept.iter().take(4) {
        let known: Value = serde_json::from_slice(&std::fs::read(path).expect("kept")).expect("JSON");
        let (status, text) = again(path);
        let found = known["found"].as_str().expect("what was found");
        assert_eq!(status, Some(0), "{path}: {text}");
        // The device's name and the kernel's message of a mount error may differ.
        assert!(known["proof"] == "mount" || text.matches(found).count() == 2, "{path}: {found}: {text}");
    }
    // On an undamaged filesystem the finding does not recur.
    let whole = folder.path().join("whole.json");
    let mut known: Value = serde_json::from_slice(&std::fs::read(kept[0]).expect("kept")).expect("JSON");
    known["proof"] = serde_json::json!({ "promise": { "name": "fsync", "places": [] } });
    std::fs::write(&whole, known.to_string()).expect("written");
    let (status, text) = again(&whole.display().to_string());
    assert!(status == Some(1) && text.contains("the damage does not occur again"), "{text}");
    // A description that others can write could name any program, and an image could hold any filesystem.
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mode is set");
    };
    let image = folder.path().join(known["image"].as_str().expect("an image"));
    for open in [&whole, &image] {
        mode(open, 0o666);
        let (status, text) = again(&whole.display().to_string());
        assert!(
            status == Some(2) && text.contains(&format!("{} can be written by everybody", open.display())),
            "{text}"
        );
        mode(open, 0o600);
    }
    let (status, text) = again("/dev/null");
    assert!(status == Some(2) && text.contains("--again /dev/null"), "{text}");
}

#[test]
fn invalid_options_of_powercut_are_refused_with_their_reason() {
    needs!(root, loop_devices);
    let _alone = alone();
    for (words, status, printed) in [
        (vec!["--fs", "extfour"], 2, "unknown filesystem"),
        (vec!["--fs", "f2fs", "--command", "true", "--check", "true"], 2, "in a virtual machine"),
        (vec!["--in", "here", "--fs", "xfs", "--image", "20M"], 1, "too small"),
        (vec!["--image", "100T"], 2, "choose a smaller size"),
        (vec!["--fs", "ext4", "--command", "true"], 2, "--check"),
        (vec!["--states", "5"], 2, "not in 10..="),
        (vec!["--fs", "btrfs", "--axis", "devices=2"], 2, "needs several devices"),
        (vec!["--fs", "ext4", "--axis", "disk=hdd-7200"], 2, "needs a modelled disk"),
        (vec!["--fs", "ext4", "--axis", "fill=50%"], 2, "is filled beforehand"),
        (
            vec!["--fs", "ext4", "--in", "guest", "--command", "true", "--check", "true"],
            2,
            "power cuts of programs run only",
        ),
    ] {
        let done = Command::new(PROGRAM).arg("powercut").args(&words).output().expect("it starts");
        let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(status), "{words:?}: {text}");
        assert!(text.contains(printed), "{words:?}: {text}");
    }
}

#[test]
fn a_program_that_fails_or_acknowledges_nothing_is_reported() {
    needs!(root, loop_devices);
    let _alone = alone();
    for (command, printed) in
        [("false", "exit status 1"), ("true", "it acknowledged nothing"), ("no-such-program", "No such file")]
    {
        let words = ["powercut", "--fs", "ext4", "--states", "10", "--command", command, "--check", "true"];
        let done = Command::new(PROGRAM).args(words).output().expect("it starts");
        let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!done.status.success() && text.contains(printed), "{command}: {text}");
    }
}

/// The safety of a contender in a run's view: the badge, and the measurement.
fn safety(folder: &Path, contender: &str) -> (String, String) {
    let shown = Command::new(PROGRAM)
        .args(["show", "--json"])
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .output()
        .expect("it starts");
    let run: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    let contenders = run["contenders"].as_array().expect("contenders");
    let one = contenders.iter().find(|one| one["name"] == contender).expect("it was measured");
    let text = |field: &str| one[field].as_str().unwrap_or_default().to_string();
    (text("badge"), text("measured"))
}

#[test]
fn a_run_shows_power_cut_results_of_its_contenders_and_prefers_local_ones_over_shipped() {
    needs!(root, loop_devices);
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let bakeoff = |words: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(words.split_whitespace()).current_dir(folder.path());
        let done = command.env("XDG_STATE_HOME", folder.path().join("state")).output().expect("it starts");
        assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
    };
    bakeoff(
        "run small-files --fs ext2,ext4 --set files=200 --set some=50 --samples 1 --image 64M --no-twin --no-report --plain --scratch memory",
    );
    let (badge, measured) = safety(folder.path(), "ext2");
    assert!(badge.starts_with("unordered") && badge.contains(", breaks "), "{badge}");
    let broken = measured.split_once("broke ").and_then(|(_, rest)| rest.split_once(" (")).expect("a list of names").0;
    assert!(broken.replace(" and ", ", ").split(", ").any(|name| name == "replace"), "{measured}");
    assert!(measured.contains("by Bakeoff's makers"), "{measured}");
    let (badge, measured) = safety(folder.path(), "ext4");
    assert!(badge.contains("survives cuts") && measured.starts_with("kept all that is promised in 1000"), "{measured}");
    bakeoff("powercut --in here --fs ext4 --states 200 --unsynced 1s --seed 3 --json");
    let (_, measured) = safety(folder.path(), "ext4");
    assert!(measured.starts_with("kept all that is promised in 200 power cuts"), "{measured}");
    assert!(measured.contains(&format!("Linux {}, here", reliability::kernel())), "{measured}");
    // Results with too few states are not used.
    bakeoff("powercut --in here --fs ext4 --states 20 --unsynced 1s --seed 3 --json");
    assert_eq!(safety(folder.path(), "ext4").1, measured);
}
