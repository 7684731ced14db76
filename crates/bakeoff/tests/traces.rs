//! Programs that are recorded once and done again on real filesystems, from the command line.
//! In: shell lines, traces of others. Out: verdicts, workload files, refusals.

mod support;

use prerequisites::needs;
use support::Place;

/// Makes a folder with a file in it, and records what a few programs do there.
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
    let said = place.bakeoff("run ./app.trace --fs ext4,xfs --samples 3 --no-report --plain").well().out;
    assert!(said.contains("3 samples of each"), "{said}");
    let full = place.bakeoff("show --full").well().out;
    assert!(full.contains("mkdir d; for i in"), "the command's line is the title: {full}");
    assert!(!full.contains("ended otherwise"), "{full}");
    let csv = place.bakeoff("show --csv").well().out;
    let written: Vec<&str> = csv.lines().filter(|line| line.contains(",replay,replay,")).collect();
    assert_eq!(written.len(), 9, "two contenders and the twin of one, three times: {csv}");
    assert!(written.iter().all(|line| line.contains(",15009,")), "3 x 5000 bytes, a number and two names: {csv}");
}

#[test]
fn a_profile_of_a_trace_is_a_workload_that_runs_beside_the_replay() {
    needs!(strace);
    let place = Place::in_memory();
    recorded(&place);
    let said = place.bakeoff("profile app.trace").well().out;
    assert!(said.contains("create") && said.contains("app.toml"), "{said}");
    let text = std::fs::read_to_string(place.path("app.toml")).unwrap();
    for wanted in ["name = \"profile-app\"", "name = \"make\"", "name = \"remove\"", "name = \"read\"", "fsync"] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
    std::fs::create_dir(place.path("srv")).unwrap();
    place.bakeoff("run ./app.toml ./app.trace --full-speed --dir srv --samples 1 --no-report --plain").well();
    place.bakeoff("profile app.trace").refused(&["app.toml", "name another file with -o"]);
}

#[test]
fn what_cannot_be_recorded_or_replayed_is_refused_in_a_sentence() {
    needs!(strace);
    let place = Place::new();
    std::fs::create_dir(place.path("work")).unwrap();
    place.write("there.trace", "not packed");
    place.bakeoff("run ./there.trace --fs ext4").refused(&["reading the trace ./there.trace"]);
    place.bakeoff("profile missing.trace").refused(&["reading the trace missing.trace", "No such file"]);
    place.bakeoff("record -o there.trace --folder work -- true").refused(&["there.trace is there already"]);
    place.bakeoff("record -o new.trace --folder nowhere -- true").refused(&["nowhere"]);
    place.bakeoff("run small-files --full-speed").refused(&["--full-speed is for traces"]);
    place
        .shell("$BAKEOFF record -o new.trace --folder work --with strace -- sh -c 'exit 3'")
        .refused(&["ended with exit status: 3"]);
    assert!(place.path("new.trace").exists(), "what it did until then is kept");
}
