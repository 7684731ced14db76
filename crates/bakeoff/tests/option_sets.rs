//! Published option sets that this kernel refuses run in their nearest form, under a name that shows this; claims about them mention it.
//! Options typed by the user, and the user's own sets, remain errors with advice.

mod support;

use serde_json::Value;
use support::{Place, leftovers, root, trials};

const RUN: &str =
    "run small-files --set files=40 --set some=10 --image 1GiB --samples 1 --no-twin --plain --no-report --scratch .";
const OLD: &str = "[old]\nfs = \"xfs\"\nmount = \"logbsize=256k,nobarrier\"\n";

/// Whether XFS can compete here on a kernel without nobarrier; if not, the test counts as left out.
fn xfs(place: &Place) -> bool {
    if !root("option sets") {
        return false;
    }
    let output = place.bakeoff("plan small-files --image 512MiB --fs xfs --commands");
    if output.status != Some(0) || output.out.contains("it cannot compete") {
        prerequisites::leave_out("xfs", "XFS cannot compete here");
        return false;
    }
    true
}

fn json(place: &Place, words: &str) -> Value {
    serde_json::from_str(&place.bakeoff(words).well().out).expect("JSON")
}

#[test]
fn options_given_several_times_are_as_many_contenders_labelled_by_what_differs() {
    let place = Place::new();
    if !xfs(&place) {
        return;
    }
    let labels = |words: &str| -> Vec<String> {
        let plan = place.shell(&format!("$BAKEOFF plan small-files --json --no-twin {words}")).well();
        let plan: Value = serde_json::from_str(&plan.out).expect("JSON");
        let all = plan["contenders"].as_array().expect("contenders").iter();
        all.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(
        labels("--fs ext4,xfs --mkfs xfs='-i size=512 -l size=16m' --mkfs xfs='-i size=512 -l size=64m'"),
        ["ext4", "xfs -l size=16m", "xfs -l size=64m"]
    );
    assert_eq!(
        labels("--fs xfs --mkfs xfs= --mkfs xfs='-m rmapbt=0' --mount xfs=noatime --mount xfs=noatime,logbsize=256k"),
        ["xfs", "xfs logbsize=256k", "xfs -m rmapbt=0", "xfs -m rmapbt=0 logbsize=256k"]
    );
    assert_eq!(labels("--fs xfs --mkfs xfs='-l size=16m'"), ["xfs"], "one set for all needs no name");
    place
        .shell("$BAKEOFF plan small-files --fs xfs --mkfs xfs=-K --mkfs xfs=-K")
        .refused(&["given twice", "leave one out"]);
    let sets = "--fs ext4 --mkfs ext4= --mkfs ext4='-O ^has_journal'";
    place.shell(&format!("$BAKEOFF {} {sets}", RUN.replace("--scratch .", "--scratch . --cold drop"))).well();
    for (label, trial) in trials(&place) {
        let tools = trial.found.expect("it was mounted").inspected;
        let has_journal = tools.values().any(|text| text.contains("has_journal"));
        assert_eq!(has_journal, label == "ext4", "{label}");
    }
}

#[test]
fn a_published_set_that_is_refused_runs_in_its_nearest_form_and_claims_say_so() {
    let place = Place::new();
    if !xfs(&place) {
        return;
    }
    let output =
        place.bakeoff(&format!("{} --fs xfs,xfs-tuned,xfs-normapbt", RUN.replace("--samples 1", "--samples 3"))).well();
    assert!(output.err.contains("xfs-tuned (nearest): the nearest supported form of xfs-tuned with"), "{}", output.err);
    assert!(!output.err.contains("xfs-normapbt (nearest)"), "what is taken runs as it was: {}", output.err);
    for (label, trial) in trials(&place) {
        let found = trial.found.expect("it was mounted");
        let option = |wanted: &str| found.super_options.iter().any(|option| option == wanted);
        let flushes = found.options.iter().find(|option| option.asked == "flushes off");
        let is_nearest = label == "xfs-tuned (nearest)";
        assert_eq!(
            flushes.and_then(|option| option.found.as_deref()),
            is_nearest.then_some("write through"),
            "{label}"
        );
        assert_eq!(found.durability.flushes, Some(!is_nearest), "{label}");
        assert_eq!(option("logbsize=256k"), label != "xfs", "what is taken of the set is kept: {label}");
    }
    let shown = json(&place, "show --json");
    let nearest = |name: &str| {
        let all = shown["contenders"].as_array().expect("contenders");
        all.iter().find(|contender| contender["name"] == name).expect("it is there")["nearest"].clone()
    };
    assert_eq!(nearest("xfs-tuned (nearest)")["of"], "xfs-tuned");
    assert_eq!(nearest("xfs-normapbt"), Value::Null);
    assert!(place.bakeoff("show").well().out.contains("device.flushes=off instead of nobarrier"));

    place.write(
        "mine.csv",
        "id,source,device,workload,operation,cache,left,relation,right,factor,statement\n\
         tuned,me,any,small-files,create,cold,xfs-tuned,faster,xfs,,tuned\n\
         rmap,me,any,small-files,create,cold,xfs-normapbt,faster,xfs,,no reverse map\n",
    );
    let held = json(&place, "claims --file mine.csv --json");
    let [tuned, rmap] = [&held["claims"][0], &held["claims"][1]];
    assert_eq!((&tuned["left"], &tuned["nearest"][0]["of"]), (&"xfs-tuned".into(), &"xfs-tuned".into()));
    assert_ne!(tuned["outcome"], "not-testable", "{tuned}");
    assert_eq!(rmap["nearest"], Value::Array(Vec::new()));
    let printed = place.bakeoff("claims --file mine.csv").well().out;
    assert_eq!(printed.matches("Tested in its nearest supported form: xfs-tuned with").count(), 1, "{printed}");
    assert_eq!(leftovers(place.folder()), [""; 0]);
}

#[test]
fn a_removed_option_in_a_command_or_an_own_set_is_an_error_with_a_remedy() {
    let place = Place::new();
    if !xfs(&place) {
        return;
    }
    let way = ["remove nobarrier, which XFS dropped in Linux 4.19", "the nearest is --axis device.flushes=off"];
    let typed = place.bakeoff(&format!("{RUN} --fs xfs --mount xfs=nobarrier"));
    typed.refused(&way);
    std::fs::create_dir_all(place.path("config/bakeoff")).expect("a folder is made");
    place.write("config/bakeoff/contenders.toml", OLD);
    place.bakeoff(&format!("{RUN} --fs old")).refused(&way);
    assert_eq!(leftovers(place.folder()), [""; 0]);
}

#[test]
fn a_kernel_that_takes_the_set_gets_it_as_it_was() {
    let place = Place::new();
    if !xfs(&place) {
        return;
    }
    let planned = |place: &Place| place.bakeoff("plan small-files --image 1GiB --fs xfs-tuned --commands").well().out;
    let today = planned(&place);
    assert!(today.contains("-o logbsize=256k /dev") && today.contains("queue/write_cache"), "{today}");
    // A description in which nobarrier is still supported.
    let xfs = include_str!("../../../filesystems/xfs.toml");
    assert!(xfs.contains("since = \"4.19\""));
    std::fs::create_dir_all(place.path("config/bakeoff/filesystems")).expect("a folder is made");
    place.write("config/bakeoff/filesystems/xfs.toml", &xfs.replace("since = \"4.19\"", "since = \"999.0\""));
    let then = planned(&place);
    assert!(then.contains("-o logbsize=256k,nobarrier /dev") && !then.contains("(nearest)"), "{then}");
    assert!(!then.contains("queue/write_cache"), "{then}");
}
