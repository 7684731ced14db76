//! Shared filesystems, each set up with its servers on this machine: they give figures, a lost server costs only a trial, a killed run
//! leaves nothing, and the machine's own servers are not touched.

mod support;

use prerequisites::needs;
use records::TrialStatus;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::{Place, leftovers, trials, until};

const SMALL: &str =
    "--set files=60 --set some=20 --samples 1 --image 512M --scratch . --no-twin --plain --no-report --seed 3";

/// Time limit for a state of a run to occur.
const PATIENCE: Duration = Duration::from_secs(240);

/// Processes whose command line contains a text.
fn processes(text: &str) -> Vec<(u32, String)> {
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let of = |folder: PathBuf| {
        let pid = folder.file_name()?.to_str()?.parse().ok()?;
        let words = fs::read(folder.join("cmdline")).ok()?;
        Some((pid, String::from_utf8_lossy(&words).replace('\0', " ")))
    };
    all.filter_map(|entry| of(entry.path())).filter(|(_, words)| words.contains(text)).collect()
}

fn listing(folder: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

#[test]
fn replicated_distributed_and_sshfs_are_set_up_measured_and_gone() {
    needs!(root, loop_devices, gluster, sshfs, sshd, ip);
    let place = Place::new();
    let before = [listing("/var/lib/glusterd"), listing("/run/gluster"), listing("/root/.ssh"), listing("/etc/ssh")];
    let output =
        place.bakeoff(&format!("run small-files --shared gluster-replica2,gluster-dist3,sshfs {SMALL}")).well();
    let done = trials(&place);
    let given: Vec<&str> =
        done.iter().filter(|(_, trial)| trial.status != TrialStatus::Failed).map(|(label, _)| label.as_str()).collect();
    for name in ["gluster-replica2", "gluster-dist3", "sshfs"] {
        assert!(given.contains(&name), "{name}: {output:#?}");
    }
    for (label, trial) in done.iter().filter(|(_, trial)| trial.status != TrialStatus::Failed) {
        let found = trial.found.as_ref().expect("looked at");
        assert!(found.filesystem.starts_with("fuse."), "{label}: {}", found.filesystem);
        assert!(
            found.remarks.iter().any(|remark| remark.contains("network namespaces")),
            "{label}: {:?}",
            found.remarks
        );
        assert_eq!(trial.closing.as_ref().expect("closed").whole, Some(true), "{label}: its bricks are checked");
        assert!(
            trial.phases.iter().all(|phase| phase.evidence.dropped == Some(true) || !phase.name.contains("read")),
            "{label}: caches were dropped"
        );
    }
    let after = [listing("/var/lib/glusterd"), listing("/run/gluster"), listing("/root/.ssh"), listing("/etc/ssh")];
    assert_eq!(before, after, "what the machine's own servers have is as it was");
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

/// A shell script that runs on the contender: it writes files, requests the first time that the brick of server 2 is killed, writes more,
/// and reads all of them back. It succeeds only if nothing failed and nothing is missing.
fn script(place: &Path) -> String {
    format!(
        "P={}\n\
         for i in $(seq 40); do echo \"content of $i\" >a$i || exit 1; done\n\
         if [ ! -e $P/asked ]; then\n\
             pwd >$P/asked; n=0\n\
             while [ ! -e $P/killed ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done\n\
         fi\n\
         failed=0; missing=0\n\
         for i in $(seq 40); do echo \"content of $i\" >b$i || failed=$((failed + 1)); done\n\
         for i in $(seq 40); do for n in a b; do [ \"$(cat $n$i)\" = \"content of $i\" ] || missing=$((missing + 1)); done; done\n\
         echo $failed $missing >>$P/counted\n\
         [ $failed = 0 ] && [ $missing = 0 ]\n",
        place.display()
    )
}

/// The script's counts at each turn: failed writes and unreadable files; and the reason of the trial that failed.
fn with_a_brick_killed(contender: &str) -> (Vec<(u32, u32)>, String) {
    let place = Place::new();
    let file = place.write("work.sh", &script(place.folder()));
    let words = ["run", "--command", &format!("sh {}", file.display()), "--unconfined", "--shared", contender];
    let rest = ["--samples", "1", "--image", "512M", "--scratch", ".", "--no-twin", "--plain", "--no-report"];
    let words: Vec<String> = words.into_iter().chain(rest).map(str::to_owned).collect();
    let asked = place.path("asked");
    let killed = place.path("killed");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let root =
                until(PATIENCE, "the work", || fs::read_to_string(&asked).ok().filter(|text| text.ends_with('\n')));
            let servers =
                root.trim().strip_suffix("/mnt/work").expect("the work is in a mount").to_owned() + "/servers/disk/2";
            let brick = until(PATIENCE, "the brick", || {
                processes(&servers).into_iter().find(|(_, words)| words.contains("glusterfsd")).map(|(pid, _)| pid)
            });
            let pid = rustix::process::Pid::from_raw(brick as i32).expect("a number");
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
            until(PATIENCE, "its end", || (!Path::new(&format!("/proc/{brick}/exe")).exists()).then_some(()));
            std::thread::sleep(Duration::from_millis(500));
            fs::write(&killed, "").expect("written");
        });
        place.bakeoff_words(&words).well();
    });
    let counted = fs::read_to_string(place.path("counted")).expect("the script wrote it");
    let number = |text: &str| text.parse().expect("a number");
    let counted =
        counted.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (number(a), number(b))).collect();
    let done = trials(&place);
    assert!(done.iter().any(|(_, trial)| trial.status != TrialStatus::Failed), "the run went on and came to a figure");
    let failed: Vec<String> =
        done.iter().filter_map(|(_, trial)| trial.reason.clone()).filter(|why| why.contains("server")).collect();
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
    (counted, failed.into_iter().next().expect("the trial that lost its server failed"))
}

#[test]
fn a_replicated_volume_goes_on_without_a_brick_and_the_trial_is_no_figure_of_it() {
    needs!(root, loop_devices, gluster, ip);
    let (counted, why) = with_a_brick_killed("gluster-replica2");
    assert_eq!(counted[0], (0, 0), "no call failed and nothing was lost");
    assert!(counted.len() > 1 && counted[1..].iter().all(|turn| *turn == (0, 0)), "{counted:?}");
    assert!(why.contains("continued without error") && why.contains("brick of server 2 is down"), "{why}");
}

#[test]
fn a_distributed_volume_loses_the_files_of_the_brick_and_the_run_goes_on() {
    needs!(root, loop_devices, gluster, ip);
    let (counted, why) = with_a_brick_killed("gluster-dist2");
    let (failed, missing) = counted[0];
    assert!(failed > 0 && missing > failed, "writes fail, and files from before are not to be read: {counted:?}");
    assert!(failed < 40 && missing < 80, "the other brick serves its files: {counted:?}");
    assert!(counted.len() > 1 && counted[1..].iter().all(|turn| *turn == (0, 0)), "{counted:?}");
    assert!(why.contains("failed because a server is lost") && why.contains("brick of server 2 is down"), "{why}");
}

#[test]
fn a_killed_run_leaves_no_server_no_namespace_and_no_brick_after_the_next_start() {
    needs!(root, loop_devices, gluster, ip);
    let place = Place::new();
    let mut child = place.start(&format!("run small-files --shared gluster-replica2 {SMALL}"));
    let marks = || -> Vec<String> {
        let of = |(pid, words): (u32, String)| {
            let own = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap_or_default();
            let here = own.contains(&place.folder().display().to_string());
            let id = words.split("/run/bakeoff/").nth(1)?.get(..8)?.to_owned();
            here.then_some(id)
        };
        processes("glusterfsd").into_iter().filter_map(of).collect()
    };
    let id = until(PATIENCE, "a brick", || marks().into_iter().next());
    child.kill().expect("SIGKILL is sent");
    child.wait().expect("reaped");
    assert!(!processes(&format!("/run/bakeoff/{id}/servers")).is_empty(), "the servers outlive the run that is killed");
    let output = place.bakeoff("clean --scratch .").well();
    assert_eq!(processes(&format!("/run/bakeoff/{id}/servers")), Vec::new(), "{output:#?}");
    assert!(!Path::new("/run/bakeoff").join(&id).exists(), "{output:#?}");
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn an_unknown_shared_filesystem_is_refused_and_a_plan_prints_every_command() {
    needs!(root, gluster, ip);
    let place = Place::new();
    place.bakeoff("plan small-files --shared ext4").refused(&["ext4", "--fs"]);
    place.bakeoff("plan small-files --shared gluster-replica4").refused(&["gluster-replica4", "gluster-replica2"]);
    let guest = place.bakeoff("plan small-files --shared gluster-replica2 --kernel debian:6.12 --commands").well();
    assert!(guest.out.contains("it cannot compete") && guest.out.contains("not in a guest"), "{}", guest.out);
    let output = place.bakeoff("plan small-files --shared gluster-replica2 --commands --no-twin").well();
    for word in [
        "volume create shared replica 2",
        "mount -t glusterfs",
        "volume status shared detail",
        "e2fsck",
        "kill -TERM 1",
    ] {
        assert!(output.out.contains(word), "{word}: {}", output.out);
    }
    let systems = place.bakeoff("systems").well();
    let (local, shared) = systems.out.split_once("Shared filesystems").expect("a heading");
    assert!(shared.contains("gluster-replica3") && !local.contains("gluster"), "{}", systems.out);
}
