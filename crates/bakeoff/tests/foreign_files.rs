//! Descriptions that another user could have written are loaded only if they are named, a plan runs no command of any description, and the
//! commands that it prints are those that a run executes.

mod support;

use ledger::{Access, Ledger};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use support::{Place, Printed, leftovers, root};

/// A user that is neither root nor any user of this machine.
const STRANGER: u32 = 54321;

/// A plan beside which other files can be placed.
const PLAN: &str = "name = \"mine\"\ntitle = \"Mine\"\nworkloads = [{ name = \"small-files\" }]\n";

/// ext2 by another name; its version command leaves a file behind.
fn description(place: &Place) -> String {
    let ext2 = concat!(env!("CARGO_MANIFEST_DIR"), "/../../filesystems/ext2.toml");
    let text = fs::read_to_string(ext2).expect("ext2 is described");
    let (start, end) = text.split_once("version = [").expect("its tool tells a version");
    let (_, end) = end.split_once(']').expect("a list");
    format!("{start}version = [\"touch\", \"{}\"]{end}", place.path("was-run").display())
}

/// A plan with a filesystem beside it, in a folder that only root can write.
fn planned() -> Place {
    let place = Place::new();
    place.write("plan.toml", PLAN);
    fs::create_dir(place.path("filesystems")).expect("made");
    place.write("filesystems/odd.toml", &description(&place));
    mode(&place.path("filesystems"), 0o755);
    mode(&place.path("filesystems/odd.toml"), 0o644);
    place
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours to change");
}

fn nothing_ran(place: &Place) {
    assert!(!place.path("was-run").exists(), "a command of the description was run");
}

fn not_loaded(place: &Place, words: &str, why: &[&str]) -> Printed {
    let output = place.bakeoff(words).refused(why).refused(&["is not loaded", "--filesystems", "odd"]);
    nothing_ran(place);
    output
}

#[test]
fn files_of_another_user_beside_a_plan_are_neither_loaded_nor_run() {
    if !root("strangers") {
        return;
    }
    let place = planned();
    let file = place.path("filesystems/odd.toml");
    chown(&file, Some(STRANGER), None).expect("given away");
    for verb in ["plan", "plan --commands", "run"] {
        let words = format!("{verb} ./plan.toml --fs odd --image 1GiB --scratch .");
        not_loaded(&place, &words, &["odd.toml", "user 54321", "mode 0644"]);
    }
    chown(&file, Some(0), None).expect("taken back");
    mode(&file, 0o666);
    not_loaded(&place, "plan ./plan.toml --fs odd", &["can be written by everybody"]);
    mode(&file, 0o664);
    not_loaded(&place, "plan ./plan.toml --fs odd", &["can be written by its group"]);
    mode(&file, 0o644);
    mode(place.folder(), 0o777);
    not_loaded(&place, "plan ./plan.toml --fs odd", &["can be written by everybody"]);
    mode(place.folder(), 0o755);
    place.bakeoff("plan ./plan.toml --fs odd").well();
}

#[test]
fn everything_beside_a_plan_is_held_to_the_same_rule() {
    if !root("strangers") {
        return;
    }
    let place = planned();
    for (name, text) in [
        ("contenders.toml", "[sly]\nfs = \"ext4\"\nmkfs = [\"/dev/null\"]\n"),
        ("plans/sly.toml", PLAN),
        ("workloads/sly.toml", "name = \"sly\"\n"),
        ("ages/sly.toml", "title = \"sly\"\n"),
    ] {
        let path = place.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        chown(&path, Some(STRANGER), None).expect("given away");
        let output = place.bakeoff("plan ./plan.toml --fs ext4").well();
        assert!(output.err.contains("sly.toml is not loaded") || output.err.contains("contenders.toml is not loaded"));
        assert_eq!(output.err.matches("is not loaded").count(), 1, "one warning each: {}", output.err);
        fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn a_plan_runs_nothing_of_a_users_description_and_names_the_file_of_its_commands() {
    if !root("images") {
        return;
    }
    let place = planned();
    for words in ["plan ./plan.toml", "plan ./plan.toml --fs odd --commands", "plan ./plan.toml --claims"] {
        let output = place.bakeoff(&format!("{words} --image 1GiB --scratch ."));
        assert!(!output.err.contains("panicked"));
        nothing_ran(&place);
    }
    let output = place.bakeoff("plan ./plan.toml --fs odd --commands --image 1GiB --scratch .").well();
    let words = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("odd: its commands (") && words.contains("come from") && words.contains("/filesystems/odd.toml"),
        "{words}"
    );
    assert!(!words.contains("/proc/fs"), "only programs: {words}");
    assert!(words.contains(&format!("touch {}", place.path("was-run").display())), "{words}");
}

#[test]
fn a_named_description_is_loaded_regardless_of_its_owner() {
    if !root("strangers") {
        return;
    }
    let place = planned();
    chown(place.path("filesystems/odd.toml"), Some(STRANGER), None).expect("given away");
    let plan = "plan ./plan.toml --fs odd --image 1GiB --scratch .";
    for named in ["filesystems", "filesystems/odd.toml"] {
        let output = place.bakeoff(&format!("{plan} --filesystems {named}")).well();
        assert!(output.out.contains("odd: its commands ("), "{}", output.out);
        nothing_ran(&place);
    }
    place.bakeoff(&format!("{plan} --filesystems nowhere")).refused(&["nowhere", "No such file"]);
    place.bakeoff(&format!("{plan} --filesystems plan.toml")).refused(&["plan.toml"]);
}

#[test]
fn the_configuration_of_another_users_home_is_not_read() {
    if !root("strangers") {
        return;
    }
    let place = Place::new();
    let folder = place.path("home/.config/bakeoff/workloads");
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join("sly.toml"), "name = \"sly\"\n").expect("written");
    let listed = "env -u XDG_CONFIG_HOME HOME=home $BAKEOFF workloads"
        .replace("home", &place.path("home").display().to_string());
    assert!(place.shell(&listed).well().out.contains("sly.toml"), "one's own is");
    chown(place.path("home"), Some(STRANGER), None).expect("given away");
    assert!(!place.shell(&listed).well().out.contains("sly.toml"));
}

/// A command in a form that is the same in any run: ids, numbers of loop devices and images, and previous settings are replaced.
fn usual(line: &str) -> String {
    let mut words = line.trim().to_owned();
    for (before, hex) in [("bakeoff-", true), ("/run/bakeoff/", true), ("bo-", true), ("loop", false)] {
        let mut rest = std::mem::take(&mut words);
        while let Some(at) = rest.find(before) {
            let (start, end) = rest.split_at(at + before.len());
            let of_it = |letter: char| if hex { letter.is_ascii_hexdigit() } else { letter.is_ascii_digit() };
            let length = end.chars().take_while(|letter| of_it(*letter)).count();
            words += start;
            words += if hex { "ID" } else { "N" };
            rest = if length > 0 {
                end[length..].to_owned()
            } else {
                end.trim_start_matches(if hex { "ID" } else { "N" }).to_owned()
            };
        }
        words += &rest;
    }
    match words.split_once("bakeoff-ID-") {
        Some((start, end)) => {
            format!("{start}bakeoff-ID-1{}", end.trim_start_matches(|letter: char| letter.is_ascii_digit()))
        }
        None => words,
    }
}

/// Each command once, in order of first occurrence; restored settings are replaced by WAS.
fn once(lines: impl Iterator<Item = String>) -> Vec<String> {
    let (mut seen, mut closing): (Vec<String>, bool) = (Vec::new(), false);
    for line in lines {
        closing = closing || line.starts_with("umount");
        let line = match line.split_once("echo ").filter(|_| closing).and_then(|(_, end)| end.split_once(" > /sys")) {
            Some((_, setting)) => format!("sh -c 'echo WAS > /sys{setting}"),
            None => line,
        };
        if !seen.contains(&line) {
            seen.push(line);
        }
    }
    seen
}

/// First words of the commands that check a filesystem.
const CHECKS: [&str; 3] = ["e2fsck", "xfs_repair", "btrfs check"];

#[test]
fn a_run_executes_the_commands_that_its_plan_prints() {
    if !root("images") {
        return;
    }
    let place = planned();
    let asked = "./plan.toml --fs ext4,xfs,btrfs,odd,ext4+mq-deadline --mkfs ext4=-m2 --mount xfs=noatime \
                 --image 320MiB --scratch . --samples 1 --no-twin --set small-files.files=60 --set small-files.some=20";
    let plan = place.bakeoff(&format!("plan {asked} --commands")).well().out;
    nothing_ran(&place);
    place.bakeoff(&format!("run {asked} --plain --no-report")).well();
    assert!(place.path("was-run").exists(), "a run asks for the versions of its tools, as in the plan");
    let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Read).expect("the ledger opens");
    let run = ledger.run(None).expect("the run").id;
    let (contenders, trials) = (ledger.contenders(&run).expect("contenders"), ledger.trials(&run).expect("trials"));
    assert_eq!(contenders.len(), 5);
    for contender in &contenders {
        let heading = format!("For each trial of {}:", contender.label);
        let (_, printed) = plan.split_once(&heading).expect("its commands are printed");
        let printed = printed.lines().skip(1).take_while(|line| !line.is_empty());
        let printed = once(printed.filter(|line| !line.trim().starts_with('#')).map(usual));
        let mut ran = trials.iter().filter(|trial| trial.contender == contender.index).peekable();
        // Another program of this machine may keep a mount for a while in its own namespace.
        let unchecked = ran.peek().is_some_and(|trial| format!("{:?}", trial.closing).contains("not checked"));
        let printed: Vec<String> = printed
            .into_iter()
            .filter(|line| !(unchecked && CHECKS.iter().any(|check| line.starts_with(check))))
            .collect();
        let ran = once(ran.flat_map(|trial| &trial.commands).map(|command| usual(&command.line)));
        assert_eq!(printed, ran, "{}", contender.label);
    }
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn a_run_that_goes_on_uses_the_descriptions_that_it_began_with_while_they_are_ones_own() {
    if !root("images") {
        return;
    }
    let place = planned();
    let run = "run ./plan.toml --fs odd,ext4 --image 1GiB --scratch . --samples 1 --no-twin --plain --no-report \
               --set small-files.files=60 --set small-files.some=20";
    place.bakeoff(run).well();
    place.bakeoff("resume --samples 2 --plain --no-report").well();
    chown(place.path("filesystems/odd.toml"), Some(STRANGER), None).expect("given away");
    let again = "resume --samples 3 --plain --no-report";
    place.bakeoff(again).refused(&["odd.toml is not loaded", "user 54321", "--filesystems"]);
    place.bakeoff(&format!("{again} --filesystems filesystems")).well();
    fs::remove_file(place.path("filesystems/odd.toml")).expect("removed");
    place.bakeoff("resume --samples 4 --plain --no-report").refused(&["odd.toml"]);
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}
