//! Bad input gives one clear error with its position, the nearest known word and a remedy.

use std::collections::BTreeMap;
use workload::program::{Layout, level_counts, tree_problem};
use workload::{Known, Plan, WorkCatalogue, Workload, parse_contenders};

/// A valid workload, into which each test puts one mistake.
const GOOD: &str = r#"name = "mine"
title = "Mine"
about = "A test."
[options.files]
about = "files"
[options.kind]
about = "kind"
default = "plain"
allowed = ["plain", "fancy"]
[scales.quick]
files = 100
[[filesets]]
name = "set"
directory = "d"
files = "$files"
size = "4 KiB"
[[phases]]
name = "make"
cache = "cold"
work = { files = "set", steps = ["create", "write", "close"] }
[[phases]]
name = "use"
work = { files = "set", order = "in-order", steps = ["open", "read", "close"] }
"#;

fn error_of(text: &str) -> String {
    match Workload::parse(text, "mine.toml") {
        Err(error) => error.to_string(),
        Ok(_) => panic!("was taken:\n{text}"),
    }
}

/// The error after replacing one piece of the valid workload.
fn with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    error_of(&GOOD.replacen(from, to, 1))
}

#[track_caller]
fn says(error: &str, wanted: &[&str]) {
    for part in wanted {
        assert!(error.contains(part), "`{error}` does not say `{part}`");
    }
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn the_sound_workload_is_taken() {
    let workload = Workload::parse(GOOD, "mine.toml").unwrap_or_else(|error| panic!("{error}"));
    let estimate = workload.compile("quick", &BTreeMap::new(), 1).unwrap().estimate;
    assert_eq!((estimate.files_at_most, estimate.bytes_at_most), (100, 409_600));
    assert_eq!((estimate.bytes_written, estimate.bytes_read), (409_600, 409_600));
}

#[test]
fn unknown_words_name_the_nearest_known_one_and_their_place() {
    says(&with("order =", "ordr ="), &["mine.toml:23:25", "unknown key `ordr`", "did you mean `order`?"]);
    says(&with("\"in-order\"", "\"inorder\""), &["mine.toml:23:33", "unknown order `inorder`", "`in-order`"]);
    says(&with("\"create\"", "\"creat\""), &["unknown word `creat`", "did you mean `create`?"]);
    says(&with("\"4 KiB\"", "\"4 KB i\""), &["mine.toml:16:8", "`4 KB i`"]);
    says(&with("\"4 KiB\"", "\"4 kib\""), &["unknown unit `kib`", "did you mean `KiB`?"]);
    says(&with("\"cold\"", "\"cool\""), &["unknown cache state `cool`", "did you mean `cold`?"]);
    says(&with("files = \"set\"", "files = \"sett\""), &["unknown fileset `sett`", "did you mean `set`?"]);
    says(&with("\"$files\"", "\"$flies\""), &["mine.toml:15:9", "unknown variable `flies`", "`files`"]);
    says(&with("title = \"Mine\"\n", ""), &["missing key `title`"]);
    says(&with("files = 100", "files = 100\n[[filesets]"), &["mine.toml:12"]);
}

#[test]
fn distributions_and_trees_are_checked() {
    let sizes = |classes: &str| with("size = \"4 KiB\"", &format!("sizes = {classes}"));
    says(&sizes("[]"), &["mine.toml:16:9", "0 classes"]);
    says(&sizes("[[1, 10, 5]]"), &["a class from 10 to 5", "smallest value first"]);
    says(&sizes("[[1, 0, 5], [1, 5, 9]]"), &["classes overlap"]);
    says(&sizes("[[0, 1, 5]]"), &["a weight of at least 1"]);
    says(&sizes("[[1, 1, 5]]\nsize = 4"), &["`sizes` excludes other keys for sizes"]);
    let names = |rest: &str| with("size =", &format!("name-lengths = [[1, 1, {rest}\nsize ="));
    says(&names("256]]"), &["a class from 1 to 256 is not between 0 and 255"]);
    says(&names("9]]\nnames = \"decimal\""), &["`names` and `name-lengths` exclude each other"]);
    let layout = |levels: &str| with("size =", &format!("layout = {{ tree = {levels} }}\nsize ="));
    says(&layout("[[[2, 5], [0, 7]]]"), &["fileset `set`", "one directory on the first level"]);
    says(&layout("[[[1, 5]], []]"), &["at least one on each other"]);
    says(&layout("[[]]"), &["its tree holds no files"]);
    says(&layout("[[[1, 1]], [[1, 1099511627777]]]"), &["more than 2^40 files"]);
    says(&layout("[[[1, 0]]]"), &["its tree holds no files"]);
    says(&layout(&format!("[{}]", "[[1, 1]],".repeat(65))), &["65 levels; the limit is 64"]);
    says(&layout("[[[1, 5, 3]]]"), &["mine.toml:16", "a list of pairs"]);
    says(&sizes("[[1, 5]]"), &["a class has 2 numbers instead of 3"]);
}

#[test]
fn a_tree_follows_the_number_of_files() {
    let tree = "sizes = [[3, 0, 0], [1, 1000, 1000]]\nlayout = { tree = [[[1, 1]], [[9, 1]]] }";
    let workload = Workload::parse(&GOOD.replacen("size = \"4 KiB\"", tree, 1), "mine.toml").unwrap();
    for (files, directories) in [(10, 10), (100, 91), (20, 19)] {
        let settings = BTreeMap::from([("files".to_owned(), files.to_string())]);
        let compiled = workload.compile("quick", &settings, 1).unwrap();
        let Layout::Tree(levels) = &compiled.program.filesets[0].layout else { panic!("no tree") };
        assert_eq!((level_counts(levels)[1] + 1, tree_problem(levels, files)), (directories, None));
        assert_eq!(compiled.estimate.bytes_at_most, files / 4 * 1_000 + files % 4 / 2 * 1_000, "{files}");
    }
}

#[test]
fn settings_are_held_against_the_options() {
    let workload = Workload::parse(GOOD, "mine.toml").unwrap();
    let set = |name: &str, value: &str| {
        let settings = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        workload.compile("quick", &settings, 1).map(|_| ()).unwrap_err().to_string()
    };
    says(&set("fils", "3"), &["workload mine with fils = 3", "unknown option `fils`", "did you mean `files`?"]);
    says(&set("kind", "fanci"), &["kind", "`fanci`", "did you mean `fancy`?"]);
    says(&set("files", "many"), &["workload mine with files = many: ", "`many`"]);
    says(&set("files", "0"), &["has 0 files"]);
    let error = workload.compile("fulll", &BTreeMap::new(), 1).unwrap_err().to_string();
    says(&error, &["unknown scale `fulll`", "quick"]);
}

#[test]
fn phases_without_the_files_that_they_need_are_refused() {
    let make = "\"create\", \"write\", \"close\"";
    says(&with(make, "\"mkdir\""), &["phase `use`", "no earlier phase creates"]);
    says(&with("order = \"in-order\"", "count = 200"), &["files 0 to 199", "which has 100"]);
    says(&with("steps = [\"create\"", "count = 10, steps = [\"create\""), &["needs 100 files", "only 10 exist"]);
    says(
        &with("files = \"set\", order", "blocks = \"set\", block = \"4 KiB\", order"),
        &["\"open\" cannot be done on blocks"],
    );
    let readdir = "blocks = \"set\", block = \"4 KiB\", order = \"readdir\", steps = [\"read\"] }\n#";
    says(&with("files = \"set\", order", readdir), &["blocks cannot be in readdir order"]);
    says(
        &with("\"in-order\", steps = [\"open\"", "\"follow\", steps = [\"open\""),
        &["no other group of the phase creates"],
    );
    says(&with("\"open\", \"read\"", "\"read\""), &["\"read\" needs a file that is open", "put \"open\" before it"]);
    says(&with("\"read\", \"close\"", "\"read\""), &["still open", "end with \"close\""]);
    says(&with("\"open\", \"read\"", "\"open\", \"open\", \"read\""), &["still open", "put \"close\" before it"]);
    says(&with("name = \"use\"", "name = \"make\""), &["another phase has the same name"]);
    says(
        &with("files = \"set\", order", "order"),
        &["one of `files`, `blocks`, `directories`, `device`, `aged` and `volume`"],
    );
}

#[test]
fn two_filesets_do_not_share_a_directory() {
    let second = "[[filesets]]\nname = \"other\"\ndirectory = \"d\"\nfiles = 1\nsize = 0\n[[phases]]\nname = \"more\"\nwork = { files = \"other\", steps = [\"create\", \"close\"] }\n";
    says(&error_of(&format!("{GOOD}{second}")), &["`set` and `other` are in the same directory"]);
}

#[test]
fn work_that_would_never_end_is_refused_beforehand() {
    let follow = r#"work = [
        { name = "a", files = "set", steps = ["create", "write", "close"] },
        { name = "b", files = "set", order = "follow", steps = ["open", "read", "close"] },
    ]"#;
    let make = "work = { files = \"set\", steps = [\"create\", \"write\", \"close\"] }";
    says(&with(make, follow), &["group `b` would never end", "rename or unlink"]);
    let slow = "work = { files = \"set\", rate = 1, steps = [\"create\", \"write\", \"close\"] }";
    let text = GOOD.replacen(make, slow, 1).replacen("files = 100", "files = 1_000_000", 1);
    says(&error_of(&text), &["at 1 a second take 1000000 s", "the limit of 21600 s"]);
    says(&with("name = \"use\"", "name = \"use\"\ntime = \"30 h\""), &["longer than the limit", "time-limit"]);
    let unlink = "name = \"use\"\npasses = 2\nwork = { files = \"set\", steps = [\"unlink\"] }\n#";
    let text = GOOD.replacen("name = \"use\"", unlink, 1).replacen("\nwork = { files = \"set\", order", "\n# ", 1);
    says(&error_of(&text), &["has several passes", "remove the files"]);
}

#[test]
fn nothing_leads_out_of_the_directory() {
    for bad in ["../x", "/etc", "a//b", "a/..", ".", "a\\\\b", "a\\nb"] {
        says(&with("directory = \"d\"", &format!("directory = \"{bad}\"")), &["cannot be the directory of a fileset"]);
    }
    for step in ["{ rename = \"..\" }", "{ rename = \"a/b\" }", "{ link = \"/x\" }", "{ rename = \"\" }"] {
        says(&with("\"close\"]", &format!("\"close\", {step}]")), &["is not a plain name"]);
    }
}

#[test]
fn everything_has_a_limit() {
    says(&with("files = 100", "files = \"2_000_000_000_000\""), &["must have 1 to 2^40"]);
    says(&with("\"4 KiB\"", "\"2000000 TiB\""), &["larger than 2^60"]);
    says(
        &with("steps = [\"create\"", "workers = 1025, steps = [\"create\""),
        &["workers = 1025", "between 1 and 1024"],
    );
    says(&with("name = \"mine\"", "name = \"mi/ne\""), &["cannot be the name of a workload"]);
    let long = format!("{GOOD}# {}", "x".repeat(1 << 20));
    says(&error_of(&long), &["the limit is 1048576"]);
    let phases: String = (0..300)
        .map(|n| format!("[[phases]]\nname = \"p{n}\"\nwork = {{ files = \"set\", steps = [\"stat\"] }}\n"))
        .collect();
    says(&error_of(&format!("{GOOD}{phases}")), &["302 phases; the limit is 256"]);
    let steps = vec!["\"stat\""; 100].join(", ");
    says(&with("\"open\", \"read\", \"close\"", &steps), &["more than 64 steps"]);
}

#[test]
fn the_raw_device_is_never_written() {
    let device = "work = { device = true, block = \"4 KiB\", steps = [\"write\"] }\n#";
    let text = GOOD.replacen("work = { files = \"set\", order", device, 1);
    says(&error_of(&text), &["\"write\" cannot be done on the raw device, which is only read"]);
}

#[test]
fn hostile_text_gives_errors_and_no_panic() {
    let nested = format!("name = {}1{}", "[".repeat(5000), "]".repeat(5000));
    for text in ["", "\0", "name", "[[[", "name = 1", &nested, "\u{feff}", "phases = 3", "[scales]\n", "a.b.c.d = {}"] {
        assert!(Workload::parse(text, "x").is_err(), "{text:.40}");
        assert!(Plan::parse(text, "x").is_err(), "{text:.40}");
    }
    // Every prefix of a valid file, and every file with one byte removed.
    for end in 0..GOOD.len() {
        let _ = Workload::parse(&GOOD[..end], "x");
        let _ = Workload::parse(&format!("{}{}", &GOOD[..end], &GOOD[end + 1..]), "x");
    }
}

/// Without facts every setting is accepted.
static NO_FACTS: std::collections::BTreeMap<String, workload::AxisFacts> = std::collections::BTreeMap::new();

fn known(catalog: &WorkCatalogue) -> Known<'_> {
    Known {
        filesystems: &["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs"],
        schedulers: &["none", "mq-deadline", "kyber", "bfq"],
        aliases: &catalog.aliases,
        ages: &["old", "used"],
        sets: &catalog.contenders,
        axes: &NO_FACTS,
    }
}

fn plan_error(text: &str) -> String {
    let catalog = WorkCatalogue::builtin().unwrap();
    let checked = Plan::parse(text, "p.toml").and_then(|plan| {
        plan.contenders(&known(&catalog))?;
        plan.workloads.iter().try_for_each(|work| catalog.workload(&work.name).map(drop))
    });
    checked.expect_err(text).to_string()
}

#[test]
fn plans_name_the_nearest_known_word() {
    let plan = |extra: &str| format!("name = \"p\"\nworkloads = [\"small-files\"]\n{extra}\n");
    says(&plan_error(&plan("compte = [\"ext4\"]")), &["p.toml:3:1", "unknown key `compte`", "did you mean `compete`?"]);
    says(&plan_error(&plan("compete = [\"brtfs\"]")), &["unknown filesystem", "`brtfs`", "did you mean `btrfs`?"]);
    says(&plan_error(&plan("compete = [\"ext4+bfk\"]")), &["unknown scheduler `bfk`", "did you mean `bfq`?"]);
    says(
        &plan_error("name = \"p\"\nworkloads = [\"small-file\"]"),
        &["unknown workload `small-file`", "`small-files`"],
    );
    says(&plan_error(&plan("where = { image = \"3 GB i\" }")), &["p.toml:3:19"]);
    says(&plan_error(&plan("where = { image = \"3 GIB\" }")), &["unknown unit `GIB`", "did you mean `GiB`?"]);
    says(&plan_error(&plan("where = { imagge = \"3 GiB\" }")), &["unknown", "`imagge`", "did you mean `image`?"]);
    says(&plan_error(&plan("[sampling]\nbudget = \"10 parsecs\"")), &["p.toml:4:10", "unknown unit `parsecs`"]);
    says(&plan_error(&plan("[sampling]\nprecision = \"5\"")), &["not a share"]);
    says(&plan_error(&plan("[sampling]\nsamples = 0")), &["0 samples"]);
    says(&plan_error(&plan("[sampling]\nmin = 9\nmax = 3")), &["`min` (9) is larger than `max` (3)"]);
    says(&plan_error(&plan("fresh = \"block\"")), &["p.toml:3:1", "unknown key `fresh`"]);
    says(&plan_error(&plan("compete = [\"ext4\", \"ext4\"]")), &["two contenders have the name `ext4`"]);
    says(&plan_error(&plan("[contenders.a]\nfs = \"xffs\"")), &["contender `a`", "`xffs`", "did you mean `xfs`?"]);
    says(&plan_error(&plan("[contenders.a]\nfs = \"xfs\"\nmkfs = \"-f\"")), &["p.toml:5:8"]);
}

#[test]
fn errors_of_contender_files_name_the_problem() {
    let error = |text: &str| parse_contenders(text, "c.toml").unwrap_err().to_string();
    says(
        &error("[a]\nfs = \"xfs\"\nmout = \"noatime\""),
        &["c.toml:3:1", "unknown key `mout`", "did you mean `mount`?"],
    );
    says(&error("[a]\nmount = \"noatime\""), &["missing key `fs`"]);
    says(&error("[\"a b\"]\nfs = \"xfs\""), &["cannot be the name of a contender"]);
}

/// The error of the valid workload with one more phase at its end.
fn and_then(phase: &str) -> String {
    error_of(&format!("{GOOD}[[phases]]\nname = \"more\"\n{phase}\n"))
}

#[test]
fn snapshots_are_taken_of_what_was_made_for_it_and_known_by_their_numbers() {
    says(
        &and_then("work = { volume = \"snapshot\" }"),
        &["a root that was not created for snapshots", "prepare-snapshots"],
    );
    says(&and_then("work = { volume = \"prepare-snapshots\" }"), &["the root already has files", "the first phase"]);
    says(&and_then("work = { volume = \"snapshoot\" }"), &["snapshoot", "snapshot"]);
    says(&and_then("work = { volume = \"scrub\", count = 2 }"), &["number snapshots"]);
    says(&and_then("work = { volume = \"check\", steps = [\"read\"] }"), &["has no steps"]);
    says(&and_then("work = { volume = \"check\", direct = true }"), &["one after the other"]);
    says(&and_then("time = \"2 s\"\nwork = { volume = \"scrub\" }"), &["ends by time", "runs only once"]);
    let first = "[[phases]]\nname = \"before\"\npreparation = true\nwork = { volume = \"prepare-snapshots\" }\n[[phases]]\nname = \"make\"";
    let prepared = |phase: &str| {
        let text = GOOD.replacen("[[phases]]\nname = \"make\"", first, 1);
        error_of(&format!(
            "{text}[[phases]]\nname = \"more\"\nwork = {{ volume = \"snapshot\" }}\n[[phases]]\nname = \"last\"\n{phase}\n"
        ))
    };
    says(&prepared("work = { volume = \"rollback\", first = 3 }"), &["no snapshot 3"]);
    says(&prepared("work = { volume = \"snapshot\" }"), &["snapshot 0 exists already"]);
}

#[test]
fn devices_are_lost_one_at_a_time_and_rebuilt_after_they_were_lost() {
    let lost = "preparation = true\nwork = { volume = \"lose-device\", first = 2 }";
    says(&and_then("work = { volume = \"lose-device\", first = 2 }"), &["`preparation = true`"]);
    says(
        &and_then("preparation = true\nwork = { volume = \"lose-device\" }"),
        &["by its number, counting from 1", "`first = 2`"],
    );
    says(&and_then("work = { volume = \"rebuild\", first = 1, count = 2 }"), &["one device"]);
    says(&and_then("work = { volume = \"rebuild\", first = 2 }"), &["device 2 is not missing"]);
    says(&and_then(lost), &["device 2 is still missing at the end"]);
    let again = |phase: &str| and_then(&format!("{lost}\n[[phases]]\nname = \"last\"\n{phase}"));
    says(
        &again("preparation = true\nwork = { volume = \"lose-device\", first = 1 }"),
        &["device 2 is missing already"],
    );
    says(&again("work = { volume = \"rebuild\", first = 1 }"), &["the missing device is 2"]);
}

#[test]
fn clones_are_of_files_that_are_there_and_of_one_directory() {
    let clones = |more: &str| {
        let set = format!("[[filesets]]\nname = \"clones\"\ndirectory = \"c\"\ncopies = \"set\"\n{more}");
        let text = GOOD.replacen("[[phases]]", &format!("{set}\n[[phases]]"), 1);
        error_of(&format!(
            "{text}[[phases]]\nname = \"more\"\nwork = {{ files = \"clones\", steps = [\"open\", \"read\", \"close\"] }}\n"
        ))
    };
    says(&clones(""), &["the files of fileset `clones`, but no earlier phase creates them"]);
    says(&clones("files = 3"), &["clones and copies have the content of their source files"]);
    says(&clones("layout = \"flat\""), &["have the layout of their source files"]);
    says(&with("size = \"4 KiB\"", "copies = \"sett\""), &["sett"]);
    let spread = GOOD.replacen("size = \"4 KiB\"", "size = \"4 KiB\"\nlayout = { per-directory = 10 }", 1);
    let text =
        format!("{spread}[[phases]]\nname = \"more\"\nwork = {{ files = \"set\", steps = [{{ reflink = \"c\" }}] }}\n");
    says(&error_of(&text), &["are in several directories", "flat"]);
    says(&with("\"open\", \"read\"", "\"open\", \"fallocate\", \"read\""), &["\"fallocate\"", "open-read-write"]);
    says(&with("\"open\", \"read\", \"close\"", "\"get-xattr\""), &["\"get-xattr\" needs a file that is open"]);
    says(
        &with("\"create\", \"write\", \"close\"", "\"create\", \"write\", \"link-tmpfile\", \"close\""),
        &["open-tmpfile"],
    );
}

#[test]
fn atomic_and_uncached_are_properties_of_calls() {
    let blocks = |more: &str| {
        with(
            "files = \"set\", order",
            &format!("blocks = \"set\", block = \"4 KiB\", {more}, steps = [\"write\"] }}\n# order"),
        )
    };
    says(&blocks("atomic = true"), &["direct writes", "direct = true"]);
    says(&blocks("uncached = true, direct = true"), &["through the page cache", "past it"]);
    says(&blocks("uncached = true, engine = \"mmap\""), &["properties of a read or write call"]);
    says(
        &with("steps = [\"open\"", "uncached = true, steps = [\"open\""),
        &["`uncached` does not apply to work over `files`"],
    );
}

#[test]
fn space_is_filled_with_files_and_waited_for_alone() {
    says(&and_then("work = { fill = \"80 %\" }"), &["`fill` needs `files`"]);
    says(&and_then("work = { files = \"set\", fill = \"180 %\" }"), &["filling to 180 %"]);
    says(&and_then("work = { files = \"set\", fill = \"80 %\", count = 3 }"), &["needs one worker"]);
    says(&and_then("work = { files = \"set\", await-space = \"20 %\" }"), &["`await-space` has no target"]);
    let figure = "figure = [{ from = \"usable-share\", better = \"more\" }]\n";
    says(&and_then(&format!("{figure}work = {{ files = \"set\", steps = [\"unlink\"] }}")), &["only programs print"]);
    let other = "figure = [{ from = \"([0-9]+)\", better = \"more\" }]\n";
    says(&and_then(&format!("{other}work = {{ files = \"set\", fill = \"80 %\" }}")), &["usable-share"]);
    says(
        &and_then("needs = [\"makes\"]\nwork = { files = \"set\", steps = [\"unlink\"] }"),
        &["earlier phase", "makes"],
    );
}
