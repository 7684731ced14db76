//! `bakeoff tune` from end to end on images: the structure of its answer, interruption, continuation and refusals. No test asserts a time.

mod support;

use ledger::{Access, Ledger};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use support::{Place, leftovers, root, until};

const WORK: &str = "tune mini --for small-files --set files=60 --set some=20 --filesystems mini.toml --image 256MiB \
                    --scratch . --output found --budget 3m --plain --json";

/// ext4 under another name, with few options: one that works, one that its kernel refuses, one that is less safe.
fn place() -> Place {
    let place = Place::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filesystems/ext4.toml");
    let text = std::fs::read_to_string(file).expect("ext4 is described");
    let (described, _) = text.split_once("\n[[tune]]").expect("ext4 is tuned");
    let entry = |axis: &str, values: &str, more: &str| {
        format!("\n[[tune]]\naxis = \"{axis}\"\nvalues = [{values}]\nwhy = \"A test.\"\n{more}")
    };
    let options = entry("mount.noatime", "\"on\"", "")
        + &entry("mount.inode_readahead_blks", "\"7\"", "")
        + &entry("mount.nodelalloc", "\"on\"", "")
        + &entry("mount.nobarrier", "\"on\"", "less_safe = true\n")
        + &entry("mount.data", "\"journal\"", "")
        + &entry("mount.data", "\"writeback\"", "less_safe = true\n");
    place.write("mini.toml", &(described.to_owned() + &options));
    place
}

fn answer(output: &support::Printed) -> Value {
    serde_json::from_str(&output.out).unwrap_or_else(|error| panic!("{error}: {output:#?}"))
}

#[test]
fn a_search_that_is_stopped_continues_and_ends_with_a_confirmed_answer() {
    if !root("tuning") {
        return;
    }
    let place = place();
    let mut child = place.start(WORK);
    until(Duration::from_secs(120), "the screening", || place.path("found/screen.db").exists().then_some(()));
    let stopped = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(stopped.is_ok_and(|status| status.success()));
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());

    let first = place.bakeoff(WORK).well();
    let found = answer(&first);
    assert!(found["schema"] == "bakeoff-tune" && found["filesystem"] == "mini", "{found}");
    let stages: Vec<&str> =
        found["stages"].as_array().expect("stages").iter().map(|one| one["name"].as_str().expect("a name")).collect();
    assert_eq!((stages[0], stages[stages.len() - 1]), ("pilot", "confirm"));
    assert!(stages.contains(&"screen"), "{stages:?}");
    for stage in found["stages"].as_array().expect("stages") {
        let file = place.path(stage["database"].as_str().expect("a file"));
        let runs = Ledger::open(&file, Access::Read).and_then(|ledger| ledger.runs()).expect("a database");
        assert_eq!(runs.len(), 1, "{stage}");
    }
    let left_out = found["left_out"].to_string();
    assert!(left_out.contains("mount.inode_readahead_blks=7 is left out"), "{left_out}");
    let searched = found["searched"].to_string();
    assert!(searched.contains("mount.noatime") && !searched.contains("nobarrier"), "{searched}");
    let (low, high) = (found["best"]["low"].as_f64().expect("low"), found["best"]["high"].as_f64().expect("high"));
    assert!(low < high && found["gain"] == (low > 1.03), "{found}");
    assert!(found["mkfs"].as_str().is_some_and(|line| line.starts_with("mkfs.ext4 ") && line.ends_with("DEVICE")));
    let picture = std::fs::read_to_string(place.path(found["picture"].as_str().expect("a file"))).expect("a picture");
    assert!(picture.starts_with("<svg ") && picture.contains("mount.noatime=on"), "{picture}");
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());

    let again = answer(&place.bakeoff(WORK).well());
    for key in ["best", "runner_up", "gain", "searched", "stages"] {
        assert_eq!(again[key], found[key], "finished stages are read, and decide the same");
    }
    let planned = place.bakeoff("plan found/tuned.toml --filesystems mini.toml --scratch .").well();
    assert!(planned.out.contains("mini-defaults") && planned.out.contains("mini-tuned"), "{}", planned.out);
    place.bakeoff(&WORK.replace("files=60", "files=61")).refused(&["other options or other work", "--output"]);
}

#[test]
fn several_goals_are_measured_in_the_same_rounds_and_confirmed_each() {
    if !root("tuning") {
        return;
    }
    let place = place();
    let goals = ["speed", "space", "latency", "writes"];
    let work = WORK.replace("files=60 --set some=20", "files=300 --set some=200 --disk nvme-tlc --memory 1G");
    let found = answer(&place.bakeoff(&format!("{work} --goal {}", goals.join(","))).well());
    assert!(found["goals"] == serde_json::json!(goals) && found["runner_up"].is_null(), "{found}");
    assert_eq!(found["with"], serde_json::json!({"disk": "nvme-tlc", "limit.memory": "1G"}));
    let sets = found["sets"].as_array().expect("sets");
    assert!(!sets.is_empty() && sets.len() <= 4, "{found}");
    for set in sets {
        let by_goal = set["by_goal"].as_array().expect("results");
        let named: Vec<&str> = by_goal.iter().map(|one| one["goal"].as_str().expect("a goal")).collect();
        assert_eq!(named, goals);
        for one in by_goal {
            let [ratio, low, high] = ["ratio", "low", "high"].map(|key| one[key].as_f64().expect("a number"));
            assert!(0.0 < low && low <= ratio && ratio <= high, "{one}");
            assert!(one["gain"] == (low > 1.03) && one["loss"] == (high < 1.0 / 1.03), "{one}");
        }
        assert!(set["choice"] == false || by_goal.iter().any(|one| one["gain"] == true), "{set}");
        assert!(set["mkfs"].as_str().is_some_and(|line| line.ends_with("DEVICE")), "{set}");
    }
    assert_eq!(found["gain"], sets.iter().any(|set| set["choice"] == true));
    assert!(found["searched"].to_string().contains("\"goal\":\"writes\""), "{found}");
    let planned = place.bakeoff("plan found/tuned.toml --filesystems mini.toml --scratch .").well();
    for part in ["mini-tuned", "modelled nvme-tlc", "memory=1G"] {
        assert!(planned.out.contains(part), "{}", planned.out);
    }
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn options_of_the_user_that_are_safer_than_the_defaults_do_not_forbid_those() {
    if !root("tuning") {
        return;
    }
    let place = place();
    let work = WORK.replace("--budget 3m", "--budget 1s --axis mount.data=writeback,ordered");
    let ended = place.bakeoff(&format!("{work} --against -odata=journal")).refused(&["one trial takes"]);
    assert!(ended.err.contains("mount.data=writeback is left out: it is less safe"), "{}", ended.err);
    assert!(!ended.err.contains("data=ordered is left out") && !ended.err.contains("data=default"), "{}", ended.err);
}

#[test]
fn what_cannot_be_tuned_is_refused_before_anything_is_made() {
    if !root("tuning") {
        return;
    }
    let place = place();
    let refused = |words: &str, expected: &[&str]| {
        place.bakeoff(&format!("{words} --scratch . --output found --plain")).refused(expected);
        assert!(!place.path("found/pilot.db").exists(), "{words}");
    };
    refused("tune ext2 --for small-files", &["ext2", "[[tune]]", "btrfs, ext4, xfs"]);
    refused("tune exr4 --for small-files", &["exr4"]);
    refused("tune ext4 --for smal-files", &["smal-files", "small-files"]);
    refused("tune ext4 --for small-files --budget soon", &["--budget soon"]);
    refused("tune ext4 --for small-files --against -o", &["--against -o", "no mount options"]);
    refused("tune ext4 --for small-files --axis mkfs.blocksize=4k", &["--axis mkfs.blocksize=4k", "block_size"]);
    refused("tune ext4 --for small-files --against --device=/dev/sda", &["--device"]);
    refused("tune ext4", &["--for"]);
    refused("tune ext4 --for small-files --disk hdd-7201", &["hdd-7201", "hdd-7200"]);
    refused("tune ext4 --for small-files --axis stack=luks", &["luks", "only in a guest", "--kernel"]);
    refused("tune ext4 --for small-files --with disk=hdd-7200", &["--with disk=hdd-7200", "--disk"]);
    refused("tune ext4 --for small-files --with device.read_ahead=1M,4M", &["--with", "--axis"]);
    refused("tune ext4 --for small-files --with mount.noatime=on --axis mount.noatime", &["--axis searches"]);
    refused("tune ext4 --for small-files --with mkfs.blocksize=4k", &["blocksize"]);
    refused("tune ext4 --for small-files --goal speed,size", &["size", "space"]);
    refused("tune ext4 --for small-files --goal space,speed,space", &["--goal space", "twice"]);
    let command = "tune mini --command true --filesystems mini.toml --image 256MiB --scratch . --output timed --plain";
    place.bakeoff(&format!("{command} --goal latency")).refused(&["--goal latency", "timed as a whole"]);
    place.bakeoff(&format!("{command} --goal rebuild")).refused(&["--goal rebuild", "--with devices=2"]);
    // What a rebuild takes is found in the pilot; then the budget is too short.
    let mirror =
        "tune btrfs --for mirror --set size=1MiB --set pages=10 --image 512MiB --scratch . --output mirror --plain";
    place.bakeoff(&format!("{mirror} --with devices=2 --goal rebuild --budget 5s")).refused(&["allow at least"]);
    place
        .bakeoff(&WORK.replace("--budget 3m", "--budget 5s").replace(" --output found", " --output short"))
        .refused(&["--budget 5s", "allow at least"]);
    let few = WORK.replace("--budget 3m", "--budget 20trials").replace(" --output found", " --output few");
    place.bakeoff(&few).refused(&["--budget 20trials", "too few trials", "allow at least"]);
    assert!(!place.path("few/pilot.db").exists(), "it is refused before the first trial");
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}
