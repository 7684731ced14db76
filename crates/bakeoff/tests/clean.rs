//! Cleaning from a user's view: a leftover that cannot be removed stops nothing; it is reported, tried again, and forgotten on request.
//! In: a state folder in a private mount namespace. Out: the program's output, and what remains.
//! Without root there are no images and no cleanup records; the tests report that and pass.

mod support;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use support::{Place, Printed, root};

const RUN: &str = "run small-files --fs ext4 --image 64MiB --samples 1 --set files=50 --set some=10 --no-twin --seed 7 \
                   --plain --no-report --scratch .";

/// Runs the program with `state` as its state folder; other state of this machine is hidden.
fn alone(place: &Place, words: &str) -> Printed {
    std::fs::create_dir_all(place.path("state/marks")).expect("made");
    let script = r#"mkdir -p /var/lib/bakeoff && mount --bind state /var/lib/bakeoff && exec "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_bakeoff")]);
    command.args(words.split_whitespace()).current_dir(place.folder()).stdin(Stdio::null());
    command.env("NO_COLOR", "1").env("XDG_CONFIG_HOME", place.path("config"));
    Printed::from(command.output().expect("unshare is there"))
}

/// A cleanup record in the form of version 0.1, of a process that is gone.
fn mark(place: &Place, id: &str, made: &[(&str, &Path)]) {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("read");
    let made: Vec<String> =
        made.iter().map(|(kind, path)| format!(r#"{{"kind": "{kind}", "path": "{}"}}"#, path.display())).collect();
    std::fs::create_dir_all(place.path("state/marks")).expect("made");
    let text = format!(
        r#"{{"version": 1, "id": "{id}", "owner": {{"pid": 4194000, "started": 1}}, "boot_id": "{}", "made": [{}]}}"#,
        boot.trim(),
        made.join(",")
    );
    place.write(&format!("state/marks/{id}.json"), &text);
}

/// A work folder that cannot be removed, as long as something is mounted in it.
fn stuck(place: &Place, id: &str) -> (PathBuf, Mounted) {
    let work = place.path(&format!("bakeoff-{id}-work"));
    let point = work.join("kept");
    std::fs::create_dir_all(&point).expect("made");
    mark(place, id, &[("work", &work)]);
    (work, Mounted::new(&point))
}

/// A mount that ends with this value. It is made in a private mount namespace: each concurrent run copies the mounts of the test's
/// namespace, and a mount blocks removal as long as any copy of it exists.
struct Mounted(Child);

impl Mounted {
    fn new(point: &Path) -> Self {
        let script = r#"mount -t tmpfs tmpfs "$1" && echo mounted && read -r end"#;
        let mut keeper = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
            .arg(point)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is there");
        let mut answer = String::new();
        BufReader::new(keeper.stdout.take().expect("piped")).read_line(&mut answer).expect("read");
        assert_eq!(answer, "mounted\n");
        Self(keeper)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("the shell ends with its input");
    }
}

#[test]
fn a_scratch_folder_that_is_none_is_refused_by_every_verb_in_one_sentence() {
    let place = Place::new();
    place.write("a-file", "mine");
    for verb in ["run quick", "plan quick", "features ext4", "clean"] {
        place.bakeoff(&format!("{verb} --scratch a-file")).refused(&["--scratch a-file", "it is not a folder"]);
        place.bakeoff(&format!("{verb} --scratch nowhere")).refused(&["--scratch nowhere", "mkdir -p"]);
    }
    assert!(place.path("a-file").is_file());
}

#[test]
fn a_leftover_that_cannot_be_removed_stops_no_run_and_can_be_forgotten_by_hand() {
    if !root("what cannot be removed") {
        return;
    }
    let place = Place::new();
    let (work, _mounted) = stuck(&place, "0a0b0c01");
    let output = alone(&place, RUN).well();
    assert!(
        output.err.contains("the next start tries again") && output.err.contains("contains a mount"),
        "{}",
        output.err
    );
    let output = alone(&place, "clean");
    assert_eq!(output.status, Some(1), "{output:?}");
    assert!(
        output.out.contains("Not removed, run 0a0b0c01") && output.out.contains("--forget 0a0b0c01"),
        "{}",
        output.out
    );
    let json = alone(&place, "clean --json");
    let value: serde_json::Value = serde_json::from_str(&json.out).expect("one object");
    assert_eq!((json.status, &value["remains"]), (Some(1), &serde_json::Value::Bool(true)), "{value}");
    assert_eq!(value["runs"][0]["id"], "0a0b0c01");
    let output = alone(&place, "clean --forget 0a0b0c01").well();
    assert!(output.out.contains(&work.display().to_string()), "{}", output.out);
    assert!(work.is_dir());
    assert!(alone(&place, "clean").well().out.contains("There are no leftovers"));
    alone(&place, "clean --forget 0a0b0c01").refused(&["no leftovers of that run"]);
}

#[test]
fn a_leftover_that_was_set_aside_is_removed_once_that_is_possible() {
    if !root("what was set aside") {
        return;
    }
    let place = Place::new();
    let (work, mounted) = stuck(&place, "0a0b0c02");
    assert_eq!(alone(&place, "clean").status, Some(1));
    drop(mounted);
    let output = alone(&place, RUN).well();
    assert!(output.err.contains("removed a leftover of an interrupted run: folder"), "{}", output.err);
    assert!(!work.exists());
}

#[test]
fn an_unreadable_mark_and_foreign_images_stop_no_run_and_are_left_alone() {
    if !root("foreign images") {
        return;
    }
    let place = Place::new();
    mark(&place, "0a0b0c03", &[]);
    place.write("state/marks/0a0b0c03.json", "{ cut off");
    let image = place.write("bakeoff-0123abcd-1.img", "theirs");
    let first = alone(&place, RUN).well();
    assert!(first.err.contains("--forget 0a0b0c03") && first.err.contains("bakeoff-0123abcd-1.img"), "{}", first.err);
    let second = alone(&place, RUN).well();
    assert!(!second.err.contains("bakeoff-0123abcd-1.img"), "reported once: {}", second.err);
    let output = alone(&place, "clean --scratch .");
    assert_eq!(output.status, Some(1));
    assert!(output.out.contains("Not touched") && image.exists(), "{}", output.out);
    alone(&place, "clean --forget 0a0b0c03").well();
    alone(&place, "clean --scratch .").well();
}

#[test]
fn a_state_folder_that_others_can_write_is_not_acted_on() {
    use std::os::unix::fs::PermissionsExt;
    if !root("an untrusted state folder") {
        return;
    }
    let place = Place::new();
    let work = place.path("bakeoff-0a0b0c04-work");
    std::fs::create_dir(&work).expect("made");
    mark(&place, "0a0b0c04", &[("work", &work)]);
    let marks = place.path("state/marks");
    std::fs::set_permissions(&marks, std::fs::Permissions::from_mode(0o777)).expect("changed");
    alone(&place, "clean").refused(&["/var/lib/bakeoff/marks", "can be written by everybody"]);
    alone(&place, RUN).refused(&["can be written by everybody"]);
    assert!(work.is_dir());
}

#[test]
fn a_damaged_aged_image_and_a_planted_one_are_made_anew() {
    if !root("aged images") {
        return;
    }
    let place = Place::new();
    let aged = RUN.replace("64MiB", "200MiB") + " --age used --fill 20%";
    let images = || -> Vec<PathBuf> {
        let found = std::fs::read_dir(place.path("bakeoff-aged")).expect("there").flatten();
        found.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "img")).collect()
    };
    let output = alone(&place, &aged).well();
    assert!(output.err.contains("ageing"), "{}", output.err);
    let image = images().remove(0);
    // Damage a few bytes of the image.
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::options().write(true).open(&image).expect("opened");
    file.write_all_at(&[0xa5; 64], 8 << 20).expect("written");
    let output = alone(&place, &aged).well();
    assert!(output.err.contains("is damaged") && output.err.contains("created again"), "{}", output.err);
    assert_eq!(images().len(), 1);
    let output = alone(&place, &aged).well();
    assert!(!output.err.contains("ageing"), "it is whole: {}", output.err);
    // An image without a record in this state folder is not used.
    std::fs::rename(place.path("state"), place.path("state-of-others")).expect("renamed");
    let before = images().remove(0);
    let output = alone(&place, &aged).well();
    assert!(
        output.err.contains("is not used, since it has no record") && output.err.contains("created again"),
        "{}",
        output.err
    );
    assert!(before.exists() && images().len() == 2, "what is not ours stays");
    // Nor is one in a folder that others can write.
    use std::os::unix::fs::PermissionsExt;
    let folder = place.path("bakeoff-aged");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o775)).expect("changed");
    let output = alone(&place, &aged).well();
    assert!(
        output.err.contains("can be written by its group") && output.err.contains("created again"),
        "{}",
        output.err
    );
}
