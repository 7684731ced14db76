//! Power cuts and faults in virtual machines: damage there is detected there, and killing any of the processes leaves nothing behind.

mod machines;
mod support;

use machines::{clean, guests, killed, machines, signal};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::Place;

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
        // Disks of concurrent tests disappear by themselves; real leftovers remain.
        let end = Instant::now() + Duration::from_secs(120);
        let mut now = support::leftovers(disks);
        while now.len() > before.len() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(100));
            now = support::leftovers(disks);
        }
        assert!(now.len() <= before.len(), "{words}: {now:?}");
        clean(&place);
    }
}

/// `powercut` of a contender in a guest, with few states and little work.
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
    // Its log was replayed before the mount, as at boot.
    assert_eq!((one["states"].as_u64(), one["mounts"]["refused"]["count"].as_u64()), (Some(15), Some(0)), "{one}");
    clean(&place);
}

/// The faults of a contender in a guest, one round of each.
fn faults(place: &Place, fs: &str, faults: &str) -> Vec<serde_json::Value> {
    let output = place.bakeoff(&format!("faults --json --seed 7 --rounds 1 --fs {fs} --fault {faults}")).well();
    let one = contender(output.out.as_bytes());
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
    // All 120 fit into the time limit only where the emulated machine is fast enough.
    let acknowledged = none["acknowledged"].as_u64();
    assert_eq!(acknowledged, none["kept"]["right"].as_u64(), "{none}");
    assert!(acknowledged > Some(0), "{none}");
    assert_eq!((flips["verdict"].as_str(), flips["blocks"].as_u64()), (Some("silent"), Some(64)), "{flips}");
    assert!(flips["read"]["wrong"].as_u64() > Some(20), "JFS has no checksums: {flips}");
    // A full disk is an error in the guest, and does not stop its machine.
    for fault in [full, dead] {
        // JFS cannot always read back what it acknowledged before its disk was full.
        let unreadable = fault["kept"]["failed"].as_u64() > Some(0);
        let wanted = if unreadable { "unreadable" } else { "stopped" };
        assert_eq!((fault["verdict"].as_str(), fault["kernel_lost"].as_u64()), (Some(wanted), Some(0)), "{fault}");
        assert!(fault["met"].as_u64() > Some(0) && fault["failed_calls"].as_u64() > Some(0), "{fault}");
        assert_eq!(fault["after"]["right"].as_u64(), Some(608), "{fault}");
    }
}

#[test]
fn states_are_mounted_in_a_guest_of_a_present_kernel_on_request_and_the_answer_names_it() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let mut cuts = power_cuts(&place, "ext4", 10);
    // Another test may download a newer one meanwhile.
    let before = staging::kernel_at_hand();
    let done = cuts.args(["--in", "guest"]).output().expect("it starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let all: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let by = &all["mounted_by"];
    assert_eq!((by["place"].as_str(), by["reason"].as_str()), (Some("guest"), Some("asked")), "{by}");
    let at_hand = [before, staging::kernel_at_hand()];
    assert!(at_hand.iter().flatten().any(|kernel| by["kernel"] == kernel.as_str()), "{by}: {at_hand:?}");
    let one = contender(&done.stdout);
    assert_eq!((one["guest"].as_bool(), one["contender"].as_str()), (Some(true), Some("ext4")), "{one}");
    assert_eq!(broken_promises(&one), [""; 0], "{one}");
    clean(&place);
}

/// Starts a command; returns its process and the lines of its progress.
fn listened_to(command: &mut Command) -> (Child, impl Iterator<Item = String> + use<>) {
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("it starts");
    let output = BufReader::new(child.stderr.take().expect("piped"));
    (child, output.lines().map_while(Result::ok))
}

/// The rest of its progress and its output, read concurrently: an output larger than a pipe would block otherwise.
fn to_the_end(child: Child, lines: impl Iterator<Item = String> + Send + 'static) -> (Vec<String>, Output) {
    let rest = std::thread::spawn(move || lines.collect());
    let done = child.wait_with_output().expect("it ends");
    (rest.join().expect("it was read"), done)
}

#[test]
fn a_kernel_that_is_lost_over_a_state_costs_a_boot_and_not_the_rest() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let (child, mut lines) = listened_to(&mut power_cuts(&place, "exfat", 20));
    let at_its_states = lines.find(|line| line.contains("of 20 states inspected"));
    assert!(at_its_states.is_some(), "it ended before its states");
    let machines = machines(&place.folder().display().to_string());
    assert_eq!(machines.len(), 1, "one machine");
    signal(machines[0], "KILL");
    let (rest, done) = to_the_end(child, lines);
    assert!(done.status.success(), "{rest:?}");
    let one = contender(&done.stdout);
    assert_eq!((one["states"].as_u64(), one["mounts"]["kernel_lost"]["count"].as_u64()), (Some(20), Some(1)), "{one}");
    // The results of the other states are kept. exFAT keeps what is promised, but has no hard links.
    assert_eq!(broken_promises(&one), [""; 0], "{one}");
    let link = one["promises"].as_array().and_then(|all| all.iter().find(|promise| promise["name"] == "link"));
    assert_eq!(link.map(|link| &link["given"]), Some(&serde_json::json!("untested")));
    clean(&place);
}

/// The process that serves the disk of process `parent`.
fn server_of(parent: u32) -> u32 {
    let all = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).expect("its children");
    let serves = |pid: &&str| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("serve-disk")
    };
    all.split_whitespace().find(serves).expect("it serves").parse().expect("a number")
}

#[test]
fn a_served_disk_that_is_lost_costs_its_round_and_not_what_was_found_before() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
    command.current_dir(place.folder());
    command.args(["faults", "--json", "--seed", "7", "--rounds", "1", "--fs", "jfs", "--fault", "none,bit-flips"]);
    let (child, mut lines) = listened_to(&mut command);
    assert!(lines.any(|line| line == "jfs: bit-flips"), "it ended before its second fault");
    signal(server_of(child.id()), "KILL");
    let (rest, done) = to_the_end(child, lines);
    assert!(done.status.success(), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("starting again with another disk")), "{rest:?}");
    let one = contender(&done.stdout);
    let verdicts: Vec<&str> =
        one["faults"].as_array().expect("faults").iter().filter_map(|fault| fault["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["unharmed", "silent"], "{one}");
    clean(&place);
}
