//! The judge from a user's view: comparisons, claims, mixes and published figures of runs with known times.

mod made;
mod support;

use made::{Made, keep};
use prerequisites::needs;
use support::Place;

/// A place with one run of these contenders, six blocks.
fn with_run(contenders: &[Made]) -> (Place, String) {
    let place = Place::new();
    let run = keep(&place.path("bakeoff.db"), contenders, 6);
    (place, run)
}

fn assert_readable(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
}

#[test]
fn two_contenders_of_a_run_are_compared_row_by_row_in_80_columns() {
    let (place, run) = with_run(&[Made::of("ext4", 1.0), Made::of("xfs", 1.4)]);
    let short = place.bakeoff("compare ext4 xfs").well();
    assert_readable(&short.out);
    let row = short.out.lines().find(|line| line.contains("read-random cold")).expect("a row");
    assert!(row.contains("WORSE") && row.contains("1.40") && row.contains("998 /s"), "{row}");
    let full = place.bakeoff(&format!("compare {run}:ext4 {run}:xfs")).well();
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("  ")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(rows(&short.out), rows(&full.out), "RUN:CONTENDER names the same");
}

#[test]
fn a_regression_between_two_runs_fails_with_its_own_status_only_when_asked() {
    let place = Place::new();
    let before = keep(&place.path("bakeoff.db"), &[Made::of("ext4", 1.0)], 6);
    let after = keep(&place.path("bakeoff.db"), &[Made::of("ext4", 1.1)], 6);
    place.bakeoff(&format!("compare {before} {after}")).well();
    let failed = place.bakeoff(&format!("compare {before} {after} --fail-on worse:5%"));
    assert_eq!(failed.status, Some(4), "{failed:#?}");
    assert_readable(&failed.out);
    let borne = place.bakeoff(&format!("compare {before} {after} --fail-on worse:20%")).well();
    assert!(borne.out.contains("Nothing is worse"), "{}", borne.out);
    place.bakeoff(&format!("compare {after} {before} --fail-on worse:5%")).well();
    place.bakeoff(&format!("compare {before} {after} --fail-on slower")).refused(&["worse:5%"]);
    let likely = place.bakeoff(&format!("compare {before} {after} --fail-on likely:5%"));
    assert_eq!(likely.status, Some(4), "what is beyond doubt is likely: {likely:#?}");
    let few = keep(&place.path("bakeoff.db"), &[Made::of("ext4", 1.0)], 1);
    place.bakeoff(&format!("compare {before} {few} --fail-on worse:5%")).well();
    let open = place.bakeoff(&format!("compare {before} {few} --fail-on worse:5%,inconclusive"));
    assert_eq!(open.status, Some(5), "one sample tells nothing: {open:#?}");
    assert!(open.out.contains("Can't tell whether worse by more than 5.0 %"), "{}", open.out);
    let one = place.bakeoff(&format!("compare {before}:ext4 {after}:ext4 --fail-on worse:5%"));
    assert_eq!(one.status, Some(4), "one contender in two runs: {one:#?}");
}

#[test]
fn a_run_that_cannot_tell_or_lost_a_contender_has_its_own_status_only_when_asked() {
    needs!(root, xfs);
    let place = Place::in_memory();
    let words = "run small-files --set files=60 --set some=20 --scratch . --image 400M --samples 1 --no-twin --no-report \
                 --plain --fs ext4,xfs";
    let bad = "--mkfs xfs=-dagcount=999999";
    place.bakeoff(&format!("{words} {bad}")).well();
    let lost = place.bakeoff(&format!("{words} {bad} --fail-on inconclusive,dropped"));
    assert_eq!(lost.status, Some(6), "{lost:#?}");
    let line = lost.out.lines().find(|line| line.contains("dropped out")).expect("the answer names it");
    assert!(line.starts_with("xfs dropped out: cannot be made"), "{line}");
    assert_readable(&lost.out);
    let open = place.bakeoff(&format!("{words} --fail-on inconclusive,dropped"));
    assert_eq!(open.status, Some(5), "one sample tells nothing: {open:#?}");
    place.bakeoff(&format!("{words} --fail-on dropped")).well();
    place.bakeoff(&format!("{words} --fail-on dropt")).refused(&["dropt", "dropped"]);
}

#[test]
fn a_modelled_disk_is_compared_only_with_the_same_model() {
    let place = Place::new();
    let on = |disk, seconds| keep(&place.path("bakeoff.db"), &[Made { disk, ..Made::of("ext4", seconds) }], 6);
    let (real, hdd, slower, ssd) =
        (on(None, 1.0), on(Some("hdd-7200"), 1.0), on(Some("hdd-7200"), 1.1), on(Some("disks/ssd-sata.toml"), 9.0));
    for (a, b, disks) in [
        (&real, &hdd, ["a real disk", "the modelled disk hdd-7200"]),
        (&hdd, &real, ["the modelled disk hdd-7200", "a real disk"]),
        (&hdd, &ssd, ["the modelled disk hdd-7200", "the modelled disk ssd-sata"]),
    ] {
        for words in [format!("compare {a} {b} --fail-on worse:5%"), format!("compare {a}:ext4 {b}:ext4 --json")] {
            let refused = place.bakeoff(&words);
            assert_eq!((refused.status, refused.out.as_str()), (Some(1), ""), "{words}: {refused:#?}");
            refused.refused(&[disks[0], disks[1], "--disk"]);
        }
    }
    let same = place.bakeoff(&format!("compare {hdd} {slower} --fail-on worse:5%"));
    assert_eq!(same.status, Some(4), "{same:#?}");
}

#[test]
fn a_contender_that_is_not_there_is_named_with_those_that_are() {
    let (place, _) = with_run(&[Made::of("ext4", 1.0), Made::of("xfs", 1.4)]);
    place.bakeoff("compare ext4 zfs").refused(&["zfs", "ext4, xfs"]);
}

#[test]
fn a_claim_is_held_against_the_figure_that_its_method_timed() {
    // ext4's calls return sooner, but its data is durable later than xfs's.
    let ext4 = Made { create: (1.0, 9.0), ..Made::of("ext4", 1.0) };
    let xfs = Made { create: (2.0, 3.0), hashed: 0.5, ..Made::of("xfs", 1.0) };
    let (place, _) = with_run(&[ext4, xfs]);
    let output = place.bakeoff("claims").well().out;
    assert_readable(&output);
    let printed = output.split("\n\n").find(|text| text.contains("[smallfiles-create-ext4-xfs]")).expect("the claim");
    assert!(
        printed.starts_with("HOLDS") && printed.contains("until the") && printed.contains("calls returned"),
        "{printed}"
    );
    let hashed = output.split("\n\n").find(|text| text.contains("[flat-vs-hashed-directories]")).expect("the claim");
    assert!(hashed.starts_with("HOLDS"), "variants of one contender: {hashed}");
    assert!(output.contains("loop3 on sda (hdd)"), "the run's device is beside the claims' kinds: {output}");
    assert!(output.contains("about used filesystems"), "{output}");
    let jfs = output.find("parallel-any-xfs-jfs").expect("named");
    assert!(output[..jfs].rfind("jfs is not in this run").is_some() || output.contains("not in this run"), "{output}");
}

#[test]
fn a_claims_file_of_ones_own_is_read_and_its_clock_can_be_chosen() {
    let ext4 = Made { create: (1.0, 9.0), ..Made::of("ext4", 1.0) };
    let xfs = Made { create: (2.0, 3.0), ..Made::of("xfs", 1.0) };
    let (place, _) = with_run(&[ext4, xfs]);
    let head = "id,source,device,workload,operation,cache,left,relation,right,factor,statement,clock\n";
    let line = |id: &str, clock: &str| format!("{id},me,hdd,small-files,create,cold,ext4,faster,xfs,2,mine,{clock}\n");
    place.write("mine.csv", &format!("{head}{}{}", line("soon", "returned"), line("safe", "durable")));
    let output = place.bakeoff("claims --file mine.csv").well().out;
    assert!(output.contains("2 of 2 claims tested: 1 holds, 1 reversed"), "{output}");
    place.write("broken.csv", "id,source\na,b\n");
    place.bakeoff("claims --file broken.csv").refused(&["broken.csv", "claim 1"]);
    place.bakeoff("claims --file none.csv").refused(&["none.csv"]);
}

#[test]
fn a_mix_names_its_winner_with_times_and_an_unknown_operation_names_the_known() {
    // ext4 creates twice as fast, xfs reads twice as fast: the mix decides.
    let ext4 = Made { create: (0.9, 1.0), read: 2.0, ..Made::of("ext4", 1.0) };
    let xfs = Made { create: (0.9, 2.0), read: 1.0, ..Made::of("xfs", 1.0) };
    let (place, _) = with_run(&[ext4, xfs]);
    let creating = place.bakeoff("show --mix small-files/create=10,read-random=1").well().out;
    assert_readable(&creating);
    assert!(creating.contains("ext4 is best"), "{creating}");
    let reading = place.bakeoff("show --mix small-files/create=1,read-random=10").well().out;
    assert!(reading.contains("xfs is best") && reading.contains(" to "), "{reading}");
    let whole = place.bakeoff("show --mix small-files").well().out;
    assert!(whole.contains("3.0"), "a thousand files created and read take three seconds on either: {whole}");
    place.bakeoff("show --mix create=1,append=2").refused(&["create"]);
    place.bakeoff("show --mix append=2").refused(&["append", "small-files/read-random"]);
    place.bakeoff("show --mix nonsense").refused(&["create=1,read-random=10,delete=1", "small-files"]);
}

#[test]
fn published_figures_stand_beside_ones_own_with_source_and_year_in_the_same_unit() {
    let (place, _) = with_run(&[Made::of("ext4", 1.0), Made::of("btrfs", 2.0)]);
    let output = place.bakeoff("show --published").well().out;
    assert_readable(&output);
    let section =
        output.split("\n\n").find(|text| text.starts_with("small-files/create (cold)")).expect("the operation");
    assert!(section.contains("here       ext4"), "{section}");
    // 300,000 files in 53 s.
    let btrfs = section.lines().find(|line| line.contains("published  btrfs 5.66 k/s")).expect("converted");
    assert!(btrfs.contains("hdd"), "{btrfs}");
    assert!(section.contains("2017 [harddisk-benchmarks]"), "{section}");
    assert!(output.contains("[harddisk-benchmarks] harddisk benchmarks"), "{output}");
    let results = |words: &str| {
        place.bakeoff(&format!("report --format html,json -o folder {words}")).well();
        std::fs::read_to_string(place.path("folder/results.json")).expect("the file is there")
    };
    assert!(results("").contains("btrfs 5.66 k/s; hdd"), "handed to the report as well");
    assert!(!results("--no-published").contains("btrfs 5.66 k/s"), "left out where that is asked for");
}

#[test]
fn a_plan_for_claims_keeps_contenders_to_the_workloads_that_claims_name_them_in() {
    if !support::root("a_plan_for_claims") {
        return;
    }
    let place = Place::new();
    let output = place.bakeoff("plan --claims --image 2G").well();
    assert!(output.err.contains("can be tested here"), "{}", output.err);
    let directories = output.out.lines().find(|line| line.starts_with("  directories: ")).expect("its order");
    assert!(directories.contains("xfs") && !directories.contains("ext4"), "{directories}");
    let narrow = place.bakeoff("plan small-files --claims --image 2G --fs ext4,xfs --budget 30m").well();
    assert!(narrow.err.contains("small-files") && !narrow.err.contains("bonnie"), "{}", narrow.err);
    assert!(narrow.out.contains("Budget: 30 min allows about"), "{}", narrow.out);
    place.bakeoff("plan device --claims --image 2G").refused(&["none of", "claims"]);
    place.bakeoff("plan --claims=missing.csv --image 2G").refused(&["missing.csv"]);
}

#[test]
fn a_workload_cannot_be_named_twice() {
    Place::new().bakeoff("plan mail mail --dir .").refused(&["mail", "twice"]);
}

#[test]
fn a_budget_is_priced_beforehand_kept_and_what_stayed_open_is_named() {
    let place = Place::new();
    place.write(
        "tiny.toml",
        "name = \"tiny\"\ntitle = \"tiny\"\nabout = \"A few files.\"\n[scales.quick]\n\
         [[filesets]]\nname = \"f\"\nfiles = 50\nlayout = \"flat\"\nnames = \"decimal\"\n\
         smallest = \"4 KiB\"\nlargest = \"4 KiB\"\n\
         [[phases]]\nname = \"create\"\ndoing = \"creating\"\ncache = \"as-found\"\nfigure = \"items/s\"\n\
         work = { files = \"f\", steps = [\"create\", \"write\", \"close\"] }\n",
    );
    std::fs::create_dir(place.path("a")).expect("a folder");
    std::fs::create_dir(place.path("b")).expect("a folder");
    // This precision is never reached: the budget ends the run.
    let words = "run tiny.toml --dir a --dir b --precision 0.01% --budget 15s --no-report --plain --mix create=1000";
    let output = place.bakeoff(words).well();
    assert!(output.err.contains("Budget: 15 s allows"), "beforehand: {}", output.err);
    let prices = ["more round", "no further round", "round 1: The budget is spent"];
    let priced = prices.iter().any(|words| output.err.contains(words));
    assert!(priced, "after the first round: {}", output.err);
    let full = place.bakeoff("show --full").well().out;
    let out = format!("{} {full}", output.out).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("Ended: ") && out.contains("tiny/create as-found"), "what stayed open: {out}");
    assert!(out.contains("The mix create=1000"), "{out}");
    let unknown = words.replace("create=1000", "append=1");
    place.bakeoff(&unknown).refused(&["append", "tiny/create"]);
}
