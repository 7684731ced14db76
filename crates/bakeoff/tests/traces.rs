//! Programs that are recorded once and replayed on real filesystems, from the command line.
//! In: shell lines, foreign traces. Out: verdicts, workload files, refusals.

mod support;

use prerequisites::needs;
use support::Place;

/// Creates a folder with a file, and records what a few programs do there.
fn recorded(place: &Place) {
    std::fs::create_dir(place.path("work")).unwrap();
    std::fs::write(place.path("work/there"), vec![7; 100_000]).unwrap();
    let line = "mkdir d; for i in 1 2 3; do head -c 5000 there > d/$i; done; cat d/1 | wc -c > size; sync d/2; mv d/3 d/4; rm d/1; ls d > list";
    place.shell(&format!("$BAKEOFF record -o app.trace --folder work --with strace -- sh -ec '{line}'")).well();
}

#[test]
fn a_program_is_recorded_and_done_again_on_filesystems() {
    needs!(root, loop_devices, strace, xfs);
    let place = Place::in_memory();
    recorded(&place);
    let output = place.bakeoff("run ./app.trace --fs ext4,xfs --samples 3 --no-report --plain").well().out;
    assert!(output.contains("3 samples of each"), "{output}");
    let full = place.bakeoff("show --full").well().out;
    assert!(full.contains("mkdir d; for i in"), "the command's line is the title: {full}");
    assert!(!full.contains("ended differently"), "{full}");
    let csv = place.bakeoff("show --csv").well().out;
    // A trial that other processes disturbed is repeated, and one of the two counts.
    let counts = |line: &&str| line.contains(",replay,replay,") && line.split(',').nth(6) == Some("true");
    let written: Vec<&str> = csv.lines().filter(counts).collect();
    assert_eq!(written.len(), 9, "two contenders and the twin of one, three times: {csv}");
    assert!(written.iter().all(|line| line.contains(",15009,")), "3 x 5000 bytes, a number and two names: {csv}");
}

#[test]
fn a_profile_of_a_trace_is_a_workload_that_runs_beside_the_replay() {
    needs!(strace);
    let place = Place::in_memory();
    recorded(&place);
    let output = place.bakeoff("profile app.trace").well().out;
    assert!(output.contains("create") && output.contains("app.toml"), "{output}");
    let text = std::fs::read_to_string(place.path("app.toml")).unwrap();
    for wanted in ["name = \"profile-app\"", "name = \"make\"", "name = \"remove\"", "name = \"read\"", "fsync"] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
    std::fs::create_dir(place.path("srv")).unwrap();
    place.bakeoff("run ./app.toml ./app.trace --full-speed --dir srv --samples 1 --no-report --plain").well();
    place.bakeoff("profile app.trace").refused(&["app.toml", "name another file with -o"]);
}

/// Child processes of a process, with their names.
fn children(of: u32) -> Vec<(u32, String)> {
    let numbers =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let child = |number: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let (before, after) = stat.rsplit_once(')')?;
        let parent: u32 = after.split_whitespace().nth(1)?.parse().ok()?;
        (parent == of).then(|| (number, before.split_once('(').map_or("", |(_, name)| name).to_owned()))
    };
    numbers.filter_map(child).collect()
}

#[test]
fn a_recorder_that_is_killed_leaves_no_process_and_its_folder_goes_with_the_next() {
    needs!(root, bpftrace, strace);
    let place = Place::new();
    std::fs::create_dir(place.path("work")).unwrap();
    let mut recorder = place.start("record --with ebpf -o a.trace --folder work -- sleep 1000");
    let begun = std::time::Instant::now();
    let watched = loop {
        let children = children(recorder.id());
        if children.iter().any(|(_, name)| name == "bpftrace") && children.iter().any(|(_, name)| name == "sleep") {
            break children;
        }
        assert!(begun.elapsed().as_secs() < 60, "it never watches: {children:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let number = recorder.id();
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let is_there = |(number, name): &(u32, String)| {
        std::fs::read_to_string(format!("/proc/{number}/comm")).is_ok_and(|now| now.trim_end() == name)
            && !std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default().contains(") Z ")
    };
    let killed = std::time::Instant::now();
    while watched.iter().any(is_there) {
        assert!(
            killed.elapsed().as_secs() < 60,
            "{:?} outlive it",
            watched.iter().filter(|child| is_there(child)).collect::<Vec<_>>()
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    place.bakeoff("record --with strace -o b.trace --folder work -- true").well();
    let left: Vec<_> =
        std::fs::read_dir("/dev/shm").into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    let own = format!("bakeoff-record-{number}-");
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(&own)), "{left:?}");
}

#[test]
fn an_invalid_recording_or_replay_is_refused_in_one_sentence() {
    needs!(strace);
    let place = Place::new();
    std::fs::create_dir(place.path("work")).unwrap();
    place.write("there.trace", "not packed");
    place.bakeoff("run ./there.trace --fs ext4").refused(&["reading the trace ./there.trace"]);
    place.bakeoff("profile missing.trace").refused(&["reading the trace missing.trace", "No such file"]);
    place.bakeoff("record -o there.trace --folder work -- true").refused(&["there.trace exists"]);
    place.bakeoff("record -o new.trace --folder nowhere -- true").refused(&["nowhere"]);
    for program in ["no-such-program", "./no-such-program", "."] {
        place.bakeoff(&format!("record -o none.trace --folder work -- {program}")).refused(&["recording", "program"]);
    }
    assert!(!place.path("none.trace").exists(), "nothing was recorded");
    place.bakeoff("run small-files --full-speed").refused(&["--full-speed is for traces"]);
    place
        .shell("$BAKEOFF record -o new.trace --folder work --with strace -- sh -c 'exit 3'")
        .refused(&["ended with exit status: 3"]);
    assert!(place.path("new.trace").exists(), "what it did until then is kept");
}
