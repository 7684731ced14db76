//! `--split`: each contender has a part of the device, and another part in each round.
//! In: loop devices used as disks. Out: runs by slices, or a line or error with the reason why not.

mod support;

use support::{Disk, Place, root, trials};

const WORK: &str = "small-files --set files=300 --set some=50 --no-twin --seed 7";

#[test]
fn contenders_are_mounted_at_once_and_change_parts_from_round_to_round() {
    if !root("splitting a device") {
        return;
    }
    let place = Place::new();
    let disk = Disk::new(place.path("disk.raw"), 1200 << 20);
    let node = &disk.node;
    let run = format!("run {WORK} --on {node} --split --fs ext4,xfs,btrfs --samples 3 --plain --no-report");
    let ran = place.bakeoff(&run).well();
    assert!(!ran.err.contains("whole trials"), "{}", ran.err);
    let log = std::fs::read_to_string(place.path("bakeoff.log")).expect("the log");
    let (before, _) = log.split_once("create").expect("the first phase");
    assert_eq!((before.matches("making and mounting").count(), before.matches("unmounting").count()), (3, 0), "{log}");
    let trials = trials(&place);
    assert_eq!(trials.len(), 9);
    let part = |trial: &records::TrialRecord| {
        let made = trial.commands.iter().find(|command| command.line.contains("mkfs.")).expect("it was made");
        let used = (1..=3).find(|number| made.line.split_whitespace().any(|word| word == format!("{node}p{number}")));
        used.unwrap_or_else(|| panic!("{}", made.line))
    };
    for label in ["ext4", "xfs", "btrfs"] {
        let mut parts: Vec<u32> = trials.iter().filter(|(of, _)| of == label).map(|(_, trial)| part(trial)).collect();
        parts.sort_unstable();
        assert_eq!(parts, [1, 2, 3], "{label}: each part once");
    }
    let added =
        trials.iter().flat_map(|(_, trial)| &trial.commands).filter(|one| one.line.starts_with("addpart")).count();
    assert_eq!((added, disk.partitions()), (3, Vec::new()));
    let shown = place.bakeoff("show --json").well();
    assert!(shown.out.contains(&format!("on {node}, split in 3 parts")), "{}", shown.out);
    // The device is empty again: nothing needs --erase.
    place.bakeoff(&run.replace("--samples 3", "--samples 1").replace("ext4,xfs,btrfs", "ext4,ext2")).well();
}

#[test]
fn a_plan_shows_the_parts_and_asks_for_them() {
    if !root("splitting a device") {
        return;
    }
    let place = Place::new();
    let disk = Disk::new(place.path("disk.raw"), 1200 << 20);
    let node = &disk.node;
    let plan = |words: &str| place.bakeoff(&format!("plan {WORK} --on {node} --fs ext4,xfs {words}")).well().out;
    let text = plan("--split --commands");
    for words in [
        format!("Where: {node}, split in 2 parts of 599 MiB, each formatted again for each trial"),
        "Turns: by slices".into(),
        format!("addpart {node} 1 2048 1226752"),
        format!("mkfs.xfs -f -q -L bo-ID {node}pN"),
        format!("delpart {node} 2"),
    ] {
        assert!(text.contains(&words), "no \"{words}\" in {text}");
    }
    let json = plan("--split --json --commands");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["place"]["parts"], json["commands"]["unsplit"].as_array().map(Vec::len)), (&2.into(), Some(4)));
    let whole = plan("");
    assert!(whole.contains("they share one place (--split gives each a part of its own)"), "{whole}");
    for (words, why) in [
        ("--split --scheduler none,mq-deadline", "a scheduler acts on the whole disk"),
        ("--split --axis device.read_ahead=128k", "device.read_ahead"),
        ("--split --age old", "aged images are restored one at a time"),
    ] {
        let text = plan(words);
        assert!(text.contains(&format!("Where: {node}, formatted")), "{text}");
        let turns = text.lines().find(|line| line.starts_with("Turns: by whole trials")).unwrap_or_default();
        assert!(turns.contains(why), "{text}");
    }
    let own = format!(
        "where = {{ device = \"{node}\" }}\nsplit = true\ncompete = [\"ext4\", \"xfs\"]\nworkloads = [\"mail\"]\n"
    );
    place.write("mine.toml", &format!("name = \"mine\"\n{own}"));
    let text = place.bakeoff("plan ./mine.toml --no-twin").well().out;
    assert!(text.contains("split in 2 parts"), "{text}");
    let text = place.bakeoff("plan ./mine.toml --no-twin --image 2GiB --scratch .").well().out;
    assert!(!text.contains("parts"), "its device is not used: {text}");
    assert_eq!(disk.partitions(), Vec::<String>::new());
}

#[test]
fn an_invalid_split_is_refused_before_anything_is_written() {
    if !root("splitting a device") {
        return;
    }
    let place = Place::new();
    let disk = Disk::new(place.path("disk.raw"), 500 << 20);
    let node = &disk.node;
    let run = |words: &str| place.bakeoff(&format!("run {WORK} --samples 1 --plain --no-report {words}"));
    run("--split --fs ext4,xfs").refused(&["--split", "--on"]);
    run(&format!("--split --on {node} --fs ext4,xfs"))
        .refused(&["split in 2 parts of 249 MiB", "xfs needs at least 300 MiB"]);
    let large = "--set small-files.files=20000";
    run(&format!("--split --on {node} --fs ext4,ext2 {large}")).refused(&["split in 2 parts", "too small"]);
    run(&format!("--split --on {node} --fs ext4,ext2 --turns trial")).refused(&["--turns trial"]);
    let made =
        std::process::Command::new("mkfs.ext4").args(["-q", "-L", "precious", node]).status().expect("mkfs runs");
    assert!(made.success());
    run(&format!("--split --on {node} --fs ext4,ext2")).refused(&["precious", "--erase"]);
    assert_eq!(disk.partitions(), Vec::<String>::new());
    run(&format!("--split --on {node} --fs ext4,ext2 --erase {}", disk.file.display())).well();
    assert_eq!(disk.partitions(), Vec::<String>::new());
}
