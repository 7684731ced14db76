//! A user's own programs as the work of a run: from the command line, on real filesystems and in directories.

mod support;

use prerequisites::needs;
use support::{Place, Printed};

const IMAGES: &str = "--fs ext4,xfs --image 400MiB --samples 3 --seed 7 --no-twin --plain --no-report";

/// Runs a line with shell quoting.
fn bakeoff(place: &Place, line: &str) -> Printed {
    place.bakeoff_words(&shell_words::split(line).expect("a line"))
}

fn shown(place: &Place) -> serde_json::Value {
    serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON")
}

/// The operations of the run's only workload, each with its unit.
fn operations(shown: &serde_json::Value) -> Vec<(String, String)> {
    let operations = shown["workloads"][0]["operations"].as_array().expect("operations");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    operations.iter().map(|one| (text(&one["operation"]), text(&one["unit"]))).collect()
}

#[test]
fn commands_run_on_each_contender_and_are_judged_with_what_they_print() {
    needs!(root, xfs);
    let place = Place::new();
    std::fs::create_dir(place.path("data")).expect("made");
    place.write("data/words", "one\ntwo\nthree\n");
    let line = format!(
        "run {IMAGES} --copy-in data --prepare 'tar cf words.tar words' --command 'tar xf words.tar --one-top-level=a' \
         --shell --command 'sort words > sorted; echo \"{{\\\"lines\\\": $(wc -l < sorted)}}\"' --name unpack --name sort \
         --higher-is-better lines=/lines --check 'cmp a/words words' --cleanup 'rm -r a'"
    );
    let plan = bakeoff(&place, &line.replace("run ", "plan --commands ").replace("--plain --no-report", "")).well();
    assert!(plan.out.contains("tar xf words.tar --one-top-level=a'  # command/unpack"), "{}", plan.out);
    let run = bakeoff(&place, &line).well();
    let shown = shown(&place);
    assert_eq!(shown["failures"].as_array().map(Vec::len), Some(0), "{}", shown["failures"]);
    let names: Vec<String> = operations(&shown).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["unpack:cold", "sort:cold", "sort lines:cold"], "what is not timed is not shown: {}", run.out);
    let why = bakeoff(&place, "show --why command/unpack:cold/xfs").well().out;
    assert!(why.contains("context switches") && why.contains("CPU"), "{why}");
    let lines = &shown["workloads"][0]["operations"][2]["results"];
    assert!(
        lines.as_array().is_some_and(|all| all.len() == 2 && all.iter().all(|one| one["figure"]["max"] == 3.0)),
        "{lines}"
    );
}

#[test]
fn a_failing_command_fails_its_trial_with_its_last_lines() {
    needs!(root);
    let place = Place::new();
    let words = "run --fs ext4 --image 400MiB --samples 1 --plain --no-report --shell --command 'echo no such luck >&2; exit 7'";
    let run = bakeoff(&place, words);
    assert!(format!("{}{}", run.out, run.err).contains("ended with status 7: no such luck"), "{run:?}");
    let full = "run --fs ext4 --image 100MiB --samples 1 --plain --no-report --command 'dd if=/dev/zero of=all bs=1M'";
    let run = bakeoff(&place, full);
    let text = format!("{}{}", run.out, run.err);
    assert!(text.contains("No space left on device") && text.contains("give it more space (--image, --on)"), "{run:?}");
}

#[test]
fn a_command_runs_as_whom_it_is_asked_to() {
    needs!(root);
    let place = Place::new();
    std::fs::create_dir(place.path("data")).expect("made");
    place.write("data/words", "one");
    let line = "run --fs ext4 --image 400MiB --samples 3 --plain --no-report --copy-in data --user nobody --shell \
                --command 'id -un > who; grep -x nobody who; echo two >> words'";
    bakeoff(&place, line).well();
    bakeoff(&place, &line.replace("nobody --shell", "no-such-user --shell")).refused(&["--user no-such-user"]);
}

#[test]
fn a_command_reads_its_input_and_may_end_with_any_status_that_is_accepted() {
    let place = Place::in_memory();
    std::fs::create_dir(place.path("a")).expect("made");
    place.write("lines", "one\ntwo\n");
    let line = "run --dir a --samples 1 --no-twin --plain --no-report --input lines --command 'grep -c -e three -'";
    bakeoff(&place, &format!("{line} --exit-status 0,1")).well();
    let failed = bakeoff(&place, line);
    assert!(failed.status == Some(1) && failed.err.contains("ended with status 1: 0"), "{failed:?}");
    let counted = line.replace("three", "one").replace("--command", "--lower-is-better 'lines=([0-9]+)' --command");
    bakeoff(&place, &format!("{counted} --exit-status 0,1")).well();
    assert_eq!(shown(&place)["workloads"][0]["operations"][1]["results"][0]["figure"]["median"], 1.0);
    bakeoff(&place, &line.replace("lines", "absent")).refused(&["--input absent", "No such file"]);
    bakeoff(&place, &format!("{line} --exit-status 256")).refused(&["--exit-status"]);
    place.write("lines", &"x".repeat((64 << 10) + 1));
    bakeoff(&place, line).refused(&["--input lines", "more than 64 KiB"]);
}

#[test]
fn a_command_writes_its_output_where_it_is_asked_to_and_is_warmed_up() {
    let place = Place::in_memory();
    std::fs::create_dir(place.path("a")).expect("made");
    let line = "run --dir a --samples 1 --no-twin --plain --no-report --warmup 3 --output lines --shell \
                --command 'echo one >> times; wc -l < times; test ! -L lines; echo two times >&2' \
                --check 'test \"$(wc -l < times) $(tail -1 lines)\" = \"4 4\"' --prepare 'touch times'";
    bakeoff(&place, line).well();
    bakeoff(&place, &line.replace("--output lines", "--output null").replace("tail -1 lines", "echo 4")).well();
    let led_out = line.replace("touch times", "touch times; ln -sf ../../elsewhere lines");
    let failed = bakeoff(&place, &led_out);
    assert!(failed.status == Some(1) && failed.err.contains("opening lines for the output"), "{failed:?}");
    assert!(!place.path("elsewhere").exists());
    bakeoff(&place, &line.replace("--output lines", "--output ../lines")).refused(&["../lines", "without `/`"]);
    bakeoff(&place, &line.replace("--warmup 3", "--warmup 21")).refused(&["--warmup"]);
    bakeoff(&place, &format!("{line} --start cold")).refused(&["--start", "--warmup"]);
}

#[test]
fn commands_run_with_each_value_of_their_parameters() {
    let place = Place::new();
    let line = "--dir . --samples 3 --plain --no-report --shell --command 'test {word} = a || echo {word} > ${HOME}/{number}' \
                --parameter number=1..5..2 --parameter word=a,b";
    bakeoff(&place, &format!("run {line}")).well();
    let shown = shown(&place);
    let scales = shown["workloads"].as_array().expect("workloads").iter();
    let scales: Vec<&str> = scales.filter_map(|one| one["scale"].as_str()).collect();
    assert_eq!(scales.len(), 6, "{scales:?}");
    assert!(scales.contains(&"quick, number 5, word b"), "{scales:?}");
    assert_eq!(shown["failures"].as_array().map(Vec::len), Some(0), "{}", shown["failures"]);
    for (parameter, why) in [
        ("number", "write NAME=VALUES"),
        ("number=1,,2", "cannot be a value"),
        ("number=1,1", "is given twice"),
        ("number=5..1", "smaller number first"),
        ("number=1..5..0", "a step is a whole number above 0"),
        ("number=1..1000000", "more than 64 values"),
        ("Number=1", "a name begins with a small letter"),
        ("other=1,2", "no command contains {other}"),
    ] {
        let line = format!("plan --dir . --shell --command 'echo {{number}}' --parameter {parameter}");
        bakeoff(&place, &line).refused(&["--parameter", why]);
    }
    let tools = "plan --dir . --command '{tool} words' --parameter tool=cat,no-such-program";
    bakeoff(&place, tools).refused(&["--command", "no program `no-such-program`"]);
    bakeoff(&place, &tools.replace("no-such-program", "wc")).well();
    let figure = "plan --dir . --command 'echo 5 tps' --higher-is-better tps=tps";
    bakeoff(&place, figure).refused(&["`tps` has no group around the number of figure `tps`"]);
}

#[test]
fn directories_are_measured_without_anything_but_the_command() {
    let place = Place::in_memory();
    for folder in ["a", "b"] {
        std::fs::create_dir(place.path(folder)).expect("made");
    }
    bakeoff(
        &place,
        "run --dir a --dir b --samples 3 --no-twin --plain --no-report --shell --command 'seq 1000 > numbers'",
    )
    .well();
    assert_eq!(operations(&shown(&place)), [("seq:cold".to_owned(), "s".to_owned())]);
    // A user who can write the ledger could name other programs in it.
    use std::os::unix::fs::PermissionsExt;
    let writable = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(place.path("bakeoff.db"), writable).expect("changed");
    place.bakeoff("resume --samples 4 --plain --no-report").refused(&["acting on the database file", "chmod go-w"]);
    for folder in ["a", "b"] {
        assert_eq!(std::fs::read_dir(place.path(folder)).expect("there").count(), 0, "nothing is left in {folder}");
    }
}

/// Waits until a process with this command line runs.
fn await_process(words: &str) {
    let runs =
        || std::process::Command::new("pgrep").args(["-x", "-f", words]).output().expect("it starts").status.success();
    assert!(
        (0..200).any(|_| runs() || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            false
        }),
        "{words}"
    );
}

#[test]
fn a_command_keeps_nothing_of_another_run_in_use() {
    needs!(root);
    let (first, second) = (Place::new(), Place::new());
    let line = "run --fs ext4 --image 400MiB --samples 1 --no-twin --plain --no-report --command";
    let words =
        |seconds: &str| [line.split(' ').map(str::to_owned).collect(), vec![format!("sleep {seconds}")]].concat();
    let done = std::thread::scope(|scope| {
        let run = scope.spawn(|| first.bakeoff_words(&words("5.19")));
        await_process("sleep 5.19");
        // It starts with a copy of all mounts, and continues when the first one unmounts.
        let other = scope.spawn(|| second.bakeoff_words(&words("18.23")));
        await_process("sleep 18.23");
        (run.join().expect("it ended"), other.join().expect("it ended"))
    });
    for output in [done.0.well(), done.1.well()] {
        assert!(!output.err.contains("failed"), "{}", output.err);
    }
}

#[test]
fn programs_that_start_beside_a_run_copy_none_of_its_mounts() {
    needs!(root);
    let place = Place::new();
    let words = "run --fs ext4 --image 64MiB --samples 1 --no-twin --plain --no-report --command";
    let mut command: Vec<String> = words.split(' ').map(str::to_owned).collect();
    command.push("sleep 4.41".into());
    let points = |pid: u32| {
        let mounts = std::fs::read_to_string(format!("/proc/{pid}/mounts")).expect("it lives");
        let point = |line: &str| line.split(' ').nth(1).unwrap_or_default().to_owned();
        mounts.lines().map(point).filter(|point| point.starts_with("/run/bakeoff/")).collect::<Vec<_>>()
    };
    let mut run = place.start_words(&command);
    await_process("sleep 4.41");
    let mounted = points(run.id());
    let words = ["--mount", "--propagation", "private", "sleep", "60"];
    let mut other = std::process::Command::new("unshare").args(words).spawn().expect("it starts");
    let is_apart = || std::fs::read_to_string(format!("/proc/{}/comm", other.id())).is_ok_and(|comm| comm == "sleep\n");
    while !is_apart() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let copied = points(other.id());
    let status = run.wait().expect("it ends");
    other.kill().expect("ours");
    other.wait().expect("gone");
    assert!(!mounted.is_empty(), "the run has mounted its filesystem");
    assert!(mounted.iter().all(|point| !copied.contains(point)), "{mounted:?}, {copied:?}");
    let counts = &shown(&place)["counts"];
    assert!(status.success() && counts["failed"] == 0 && counts["done"] == 1, "{counts}");
}

/// In a chroot, where users cannot create namespaces (user_namespaces(7)), processes are held by adopting them.
const WITHOUT_NAMESPACES: &str = r#"
set -e
mkdir root a b
mount --rbind / root
for way in exits is-killed; do
    case $way in
    exits) words='setsid sleep 86417 & (setsid sleep 86418 &); exit 0' ;;
    is-killed) words='setsid sleep 86417 & sleep 86418' ;;
    esac
    chroot --userspec=nobody root env HOME="$PWD" XDG_STATE_HOME="$PWD/state" sh -c '
        cd "$HOME" && ! unshare --user true 2>/dev/null || exit 5
        exec ./program run --dir a --dir b --samples 1 --no-twin --plain --no-report --ledger "$1.db" --shell --command "$2"' sh $way "$words" &
    run=$!
    if [ $way = is-killed ]; then
        until pgrep -u nobody -f '^sleep 86418' >/dev/null; do sleep 0.1; done
        kill -9 $run
    fi
    wait $run || [ $way = is-killed ]
    for try in $(seq 100); do
        pgrep -u nobody -f '^sleep 8641[78]' >/dev/null || break
        sleep 0.1
    done
    ! pgrep -u nobody -a -f '^sleep 8641[78]'
done
"#;

#[test]
fn without_namespaces_nothing_outlives_a_command_either() {
    needs!(root);
    let place = Place::new();
    use std::os::unix::fs::PermissionsExt;
    let all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(place.folder(), all).expect("changed");
    std::fs::copy(env!("CARGO_BIN_EXE_bakeoff"), place.path("program")).expect("copied");
    place.write("script", WITHOUT_NAMESPACES);
    // The mount ends with the namespace.
    let output = place.shell("umask 0; unshare --mount --propagation private sh script");
    assert_eq!(output.status, Some(0), "{output:?}");
}

#[test]
fn invalid_commands_are_refused_before_any_file_is_touched() {
    let place = Place::new();
    for (line, words) in [
        ("plan --command 'ls | wc' --dir .", &["--shell"][..]),
        ("plan --command no-such-program --dir .", &["no-such-program", "/usr/bin"][..]),
        ("plan --command true --name a --name b --dir .", &["--name b"][..]),
        ("plan --command true --higher-is-better x --dir .", &["NAME=WHERE"][..]),
        ("plan --command true --higher-is-better 'x=(' --dir .", &["regular expression"][..]),
        ("plan --command true --copy-in nowhere --dir .", &["--copy-in nowhere"][..]),
        ("plan --command true --time-limit soon --dir .", &["--time-limit soon"][..]),
        ("plan --check true --dir .", &["--command"][..]),
        ("plan --command true --memory much --dir .", &["--memory"][..]),
    ] {
        bakeoff(&place, line).refused(words);
    }
    assert!(bakeoff(&place, "plan --shell --command 'ls | wc' --dir . --commands").well().out.contains("ls | wc"));
}

#[test]
fn a_virtual_machine_has_none_of_the_programs() {
    needs!(root);
    let line = "plan --command true --fs ext4 --kernel debian:6.1";
    bakeoff(&Place::new(), line).refused(&["programs of this machine", "virtual machine"]);
}

#[test]
fn a_program_that_does_nothing_on_one_filesystem_is_no_winner() {
    needs!(root, xfs);
    let place = Place::new();
    place.write(
        "skips-xfs.sh",
        "[ \"$(stat -f -c %T .)\" = xfs ] && exit 0\ndd if=/dev/urandom of=data bs=1M count=40 conv=fsync\n",
    );
    let script = place.path("skips-xfs.sh").display().to_string();
    let words =
        format!("run --fs ext4,xfs --image 400MiB --samples 3 --no-twin --plain --no-report --command 'sh {script}'");
    let run = bakeoff(&place, &words);
    let text = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.starts_with("The contenders did not do the same work"), "{run:?}");
    assert!(text.contains("There is no verdict on it.") && !text.contains("Take "), "{run:?}");
    let shown: serde_json::Value = serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON");
    assert_eq!(shown["answer"]["take"], serde_json::Value::Null);
    assert_eq!(shown["answer"]["doubts"].as_array().map(Vec::len), Some(1), "{}", shown["answer"]);
}
