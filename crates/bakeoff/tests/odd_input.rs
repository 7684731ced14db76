//! Inputs that are no regular file, too large, or without a home folder: one sentence, at once, and nothing changed.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use support::{Place, Printed, root};

/// One sentence: no panic, one line, and it contains these words.
fn one_sentence(output: Printed, words: &[&str]) {
    let output = output.refused(words);
    assert_ne!(output.status, Some(124), "it took longer than a minute");
    assert_eq!(output.err.trim_end().lines().count(), 1, "{}", output.err);
}

#[test]
fn plans_that_are_no_files_are_refused_at_once() {
    let place = Place::new();
    place.shell("mkfifo fifo.toml; mkdir folder.toml; truncate -s 1G large.toml; printf 'a\\377' > bytes.toml").well();
    for (name, why) in [
        ("./fifo.toml", "it is a FIFO"),
        ("/dev/zero", "it is a device"),
        ("/dev/stdin", "it is"),
        ("./folder.toml", "it is a folder"),
        ("./large.toml", "larger than 1048576 bytes"),
        ("./bytes.toml", "not UTF-8 text"),
        ("./missing.toml", "No such file"),
        ("/proc/self/mem", "/proc/self/mem"),
    ] {
        for verb in ["run", "plan"] {
            one_sentence(place.shell(&format!("$BAKEOFF {verb} {name} --dir .")), &[name, why]);
        }
    }
    one_sentence(place.shell("$BAKEOFF plan --claims=fifo.toml --image 1G"), &["fifo.toml", "it is a FIFO"]);
    one_sentence(place.shell("$BAKEOFF import fifo.toml"), &["fifo.toml", "it is a FIFO"]);
    one_sentence(place.shell("$BAKEOFF import /dev/zero"), &["zero", "it is a device"]);
    for verb in ["show", "report", "export", "claims", "resume", "import notes"] {
        one_sentence(place.shell(&format!("touch notes; $BAKEOFF {verb} --ledger fifo.toml")), &[]);
    }
    assert!(!place.path("bakeoff.db").exists());
}

#[test]
fn an_unreadable_file_is_an_error_that_names_it() {
    if !root("dropping root") {
        return;
    }
    let place = Place::new();
    fs::set_permissions(place.folder(), fs::Permissions::from_mode(0o755)).expect("ours");
    place.write("secret.toml", "name = \"x\"\n");
    fs::set_permissions(place.path("secret.toml"), fs::Permissions::from_mode(0o600)).expect("ours");
    let output = place.shell("setpriv --reuid=65534 --regid=65534 --clear-groups $BAKEOFF plan ./secret.toml --dir .");
    one_sentence(output, &["secret.toml", "Permission denied"]);
}

#[test]
fn odd_things_in_the_users_own_folders_do_not_hold_anything_up() {
    let place = Place::new();
    fs::create_dir_all(place.path("config/bakeoff/workloads")).expect("made");
    place.shell("mkfifo config/bakeoff/workloads/fifo.toml config/bakeoff/contenders.toml").well();
    place.shell("truncate -s 1G config/bakeoff/workloads/large.toml").well();
    let output = place.shell("$BAKEOFF workloads").well();
    for name in ["fifo.toml", "large.toml", "contenders.toml"] {
        assert!(output.out.contains(name), "{name} is reported: {}", output.out);
    }
    place.shell("$BAKEOFF plan small-files --dir .").well();
}

#[test]
fn a_broken_description_of_a_filesystem_stops_only_runs_that_ask_for_it() {
    let place = Place::new();
    fs::create_dir_all(place.path("config/bakeoff/filesystems")).expect("made");
    place.write("config/bakeoff/filesystems/mine.toml", "titel = \"x\"\n");
    place.shell("mkfifo config/bakeoff/filesystems/ext2.toml").well();
    let output = place.shell("$BAKEOFF plan small-files --dir .").well();
    assert!(output.err.contains("mine.toml is ignored: ") && output.err.contains("titel"), "{}", output.err);
    assert!(output.err.contains("ext2.toml is ignored: it is a FIFO"), "{}", output.err);
    place.shell("$BAKEOFF plan small-files --fs mine").refused(&["mine.toml", "titel"]);
    place.shell("$BAKEOFF plan small-files --fs ext4,ext2").refused(&["ext2.toml", "FIFO"]);
}

#[test]
fn without_a_home_everything_works_that_needs_none() {
    let place = Place::in_memory();
    let small = "run small-files --dir . --set files=60 --set some=20 --samples 1 --plain --no-report";
    for home in [
        "env -u HOME -u XDG_CONFIG_HOME",
        "env HOME= XDG_CONFIG_HOME=",
        "env HOME=odd XDG_CONFIG_HOME=odd XDG_CACHE_HOME=odd XDG_STATE_HOME=odd",
    ] {
        for words in ["workloads", "systems", "plan small-files", small, "show"] {
            let output = place.shell(&format!("{home} $BAKEOFF {words}"));
            assert!(!output.err.contains("panicked"), "{home} {words}: {output:#?}");
            output.well();
        }
        assert!(!place.path("odd").exists() && !place.path("bakeoff").exists(), "a relative value is as good as none");
    }
}

#[test]
fn a_home_that_cannot_be_written_is_named_and_another_state_folder_will_do() {
    if !root("dropping root") {
        return;
    }
    let place = Place::in_memory();
    fs::set_permissions(place.folder(), fs::Permissions::from_mode(0o777)).expect("ours");
    // The build folder may be closed to other users; a copy beside the work is not.
    place.shell("cp $BAKEOFF program").well();
    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups env -u XDG_CONFIG_HOME";
    let small = "run small-files --dir . --set files=60 --set some=20 --samples 1 --plain --no-report";
    let output = place.shell(&format!("{nobody} HOME=/proc ./program {small}"));
    let output = output.refused(&["/proc/.local/state/bakeoff", "XDG_STATE_HOME"]);
    assert!(!output.err.contains("panicked"));
    place.shell(&format!("{nobody} HOME=/proc XDG_STATE_HOME=$PWD/state ./program {small}")).well();
}
