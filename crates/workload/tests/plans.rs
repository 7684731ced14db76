//! Plans become contenders: names, option sets, schedulers old and new, and products of axes.

use std::collections::BTreeMap;
use std::time::Duration;
use workload::axes::Axes;
use workload::catalogue::Kind;
use workload::names::resolve;
use workload::{AxisFacts, AxisProduct, Contender, Exclusion, Known, Place, Plan, SettingFacts, Until, WorkCatalogue};

const FILESYSTEMS: &[&str] = &["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs"];
const SCHEDULERS: &[&str] = &["none", "mq-deadline", "kyber", "bfq"];

fn with_known<T>(work: impl FnOnce(&WorkCatalogue, &Known<'_>) -> T) -> T {
    let catalog = WorkCatalogue::builtin().unwrap_or_else(|error| panic!("{error}"));
    let ages: Vec<&str> = catalog.ages.keys().map(String::as_str).collect();
    let known = Known {
        filesystems: FILESYSTEMS,
        schedulers: SCHEDULERS,
        aliases: &catalog.aliases,
        ages: &ages,
        sets: &catalog.contenders,
        axes: &facts(),
    };
    work(&catalog, &known)
}

/// Facts of two filesystems; the others accept every setting.
fn facts() -> BTreeMap<String, AxisFacts> {
    let switch = || SettingFacts { switch: true, values: vec![] };
    let rule = |when: &[(&str, &str)], because: &str| Exclusion {
        when: when.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect(),
        because: because.into(),
    };
    let options = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let xfs = AxisFacts {
        mkfs: [("crc", switch()), ("rmapbt", switch()), ("block_size", SettingFacts::default())]
            .map(|(name, setting)| (name.to_owned(), setting))
            .into(),
        mount: options(&["logbsize", "noatime"]),
        several_devices: false,
        excludes: vec![rule(&[("mkfs.crc", "off"), ("mkfs.rmapbt", "on")], "rmapbt needs crc")],
    };
    let btrfs = AxisFacts {
        mkfs: [("csum", SettingFacts { switch: false, values: vec!["crc32c".into(), "xxhash".into()] })]
            .map(|(name, setting)| (name.to_owned(), setting))
            .into(),
        mount: options(&["noatime", "compress", "commit"]),
        several_devices: true,
        excludes: vec![],
    };
    [("xfs".to_owned(), xfs), ("btrfs".to_owned(), btrfs)].into()
}

fn contenders(text: &str) -> Vec<Contender> {
    let plan =
        Plan::parse(&format!("name = \"p\"\nworkloads = [\"mail\"]\n{text}"), "p").unwrap_or_else(|e| panic!("{e}"));
    with_known(|_, known| plan.contenders(known).unwrap_or_else(|error| panic!("{error}")))
}

fn labels(contenders: &[Contender]) -> Vec<&str> {
    contenders.iter().map(|contender| contender.label.as_str()).collect()
}

#[test]
fn every_builtin_plan_names_only_what_exists_and_compiles() {
    with_known(|catalog, known| {
        assert!(catalog.plans.contains_key("quick") && catalog.plans.contains_key("published"));
        for plan in catalog.plans.values() {
            plan.contenders(known).unwrap_or_else(|error| panic!("{error}"));
            assert!(!plan.title.is_empty() && !plan.about.is_empty(), "{}", plan.name);
            for work in &plan.workloads {
                let workload = catalog.workload(&work.name).unwrap();
                workload
                    .compile(work.scale.as_deref().unwrap_or("quick"), &work.settings, 1)
                    .unwrap_or_else(|error| panic!("{}: {error}", plan.name));
            }
        }
    });
}

#[test]
fn the_published_option_sets_are_read_as_they_stand() {
    with_known(|catalog, known| {
        let names: Vec<&str> = catalog.contenders.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["ext4-large-and-small-files", "ext4-large-files", "xfs-normapbt", "xfs-rmapbt", "xfs-tuned"]
        );
        let tuned = resolve("xfs-tuned", known).unwrap();
        assert_eq!(tuned.mkfs, ["-l", "lazy-count=1,version=2,size=128m", "-i", "attr=2", "-d", "agcount=4"]);
        assert_eq!((tuned.filesystem.as_str(), tuned.mount.as_str()), ("xfs", "logbsize=256k,nobarrier"));
    });
}

#[test]
fn a_name_is_a_filesystem_or_a_set_and_may_carry_a_scheduler_old_or_new() {
    with_known(|_, known| {
        let plain = resolve("ext4", known).unwrap();
        assert_eq!((plain.label.as_str(), plain.scheduler), ("ext4", None));
        let old = resolve("ext4+cfq", known).unwrap();
        assert_eq!((old.label.as_str(), old.scheduler.as_deref()), ("ext4+bfq", Some("bfq")));
        let set = resolve("xfs-rmapbt+noop", known).unwrap();
        assert_eq!((set.label.as_str(), set.scheduler.as_deref()), ("xfs-rmapbt+none", Some("none")));
        assert_eq!(set.mkfs, ["-m", "rmapbt=1,reflink=0"]);
    });
}

#[test]
fn a_plan_sets_its_place_and_number_of_samples() {
    let text = r#"
name = "p"
workloads = ["mail", { name = "bonnie", scale = "full", settings = { size = "1 GiB", n = "4:0:0:1" } }]
where = { image = "3 GiB" }
seed = 42
cold = "drop"
[sampling]
min = 3
max = 10
precision = "5 %"
budget = "10 m"
until = "winner"
"#;
    let plan = Plan::parse(text, "p").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((plan.place, plan.seed), (Some(Place::Image(3 << 30)), Some(42)));
    assert_eq!((plan.workloads[0].scale.as_deref(), plan.workloads[1].scale.as_deref()), (None, Some("full")));
    assert_eq!(plan.workloads[1].settings["size"], "1 GiB");
    assert_eq!(plan.cold, Some(records::ColdWay::Drop));
    let sampling = plan.sampling;
    assert_eq!((sampling.least, sampling.most, sampling.precision), (Some(3), Some(10), Some(0.05)));
    assert_eq!((sampling.budget, sampling.until), (Some(Duration::from_secs(600)), Until::Winner));
    let device = Plan::parse("name = \"p\"\nworkloads = [\"mail\"]\nwhere = { device = \"/dev/sdx\" }", "p").unwrap();
    assert_eq!((device.place, device.cold), (Some(Place::Device("/dev/sdx".into())), None));
}

#[test]
fn a_plans_own_sets_compete_unless_it_names_others() {
    let own = "[contenders.lazy]\nfs = \"ext4\"\nmount = \"noatime\"\nscheduler = \"deadline\"\nfill = \"40%\"\n";
    let all = contenders(own);
    assert_eq!(labels(&all), ["lazy"]);
    assert_eq!((all[0].scheduler.as_deref(), all[0].fill), (Some("mq-deadline"), Some(0.4)));
    let some = contenders(&format!("compete = [\"xfs\", \"lazy+kyber\"]\n{own}"));
    assert_eq!(labels(&some), ["xfs", "lazy+kyber"]);
    assert_eq!(some[1].mount, "noatime");
    assert!(contenders("").is_empty());
}

#[test]
fn a_volume_lies_on_several_devices_where_its_filesystem_can() {
    let own = "[contenders.pair]\nfs = \"btrfs\"\ndevices = 2\n";
    assert_eq!(::axes::devices(&contenders(own)[0]), 2);
    let both = contenders("compete = [\"xfs\", \"btrfs\"]\n[axes]\ndevices = [1, 2]\n");
    assert_eq!(labels(&both), ["xfs", "btrfs 1 device", "btrfs 2 devices"]);
}

#[test]
fn axes_multiply_and_leave_out_what_is_excluded() {
    let all = contenders(
        r#"compete = ["xfs"]
[axes]
mkfs.rmapbt = [0, 1]
mount.logbsize = ["32k", "256k"]
mount.noatime = ["on", "off"]
scheduler = ["noop", "bfq"]
exclude = [{ "mkfs.rmapbt" = 0, scheduler = "bfq" }]
"#,
    );
    assert_eq!(all.len(), 2 * 2 * 2 * 2 - 4);
    let first = &all[0];
    assert_eq!(first.label, "xfs rmapbt=0 logbsize=32k noatime=on+none");
    assert_eq!(first.mount, "logbsize=32k,noatime");
    assert_eq!(first.mkfs_settings, BTreeMap::from([("rmapbt".to_owned(), "0".to_owned())]));
    assert_eq!(first.axes["mount.logbsize"], "32k");
    assert_eq!(first.scheduler.as_deref(), Some("none"));
    assert!(all.iter().all(|one| !(one.axes["mkfs.rmapbt"] == "0" && one.scheduler.as_deref() == Some("bfq"))));
    let unique: std::collections::BTreeSet<&str> = labels(&all).into_iter().collect();
    assert_eq!(unique.len(), all.len());
}

#[test]
fn a_product_beyond_reason_is_refused() {
    let many: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let many = many.join(", ");
    let text = format!(
        "name = \"p\"\nworkloads = [\"mail\"]\ncompete = [\"xfs\"]\n[axes]\nmount.logbsize = [{many}]\nmount.noatime = [{many}]"
    );
    let plan = Plan::parse(&text, "p").unwrap();
    let error = with_known(|_, known| plan.contenders(known).unwrap_err().to_string());
    assert!(error.contains("more than 1000 contenders"), "{error}");
}

#[test]
fn a_users_files_are_read_and_broken_ones_are_reported_when_asked_for() {
    let mut catalog = WorkCatalogue::builtin().unwrap();
    let write = |catalog: &mut WorkCatalogue, path: &str, text: &str| {
        let kind = match path.split('/').next().unwrap() {
            "workloads" => Kind::Workload,
            "plans" => Kind::Plan,
            _ => Kind::Contenders,
        };
        catalog.add(kind, path.as_ref(), Ok(text));
    };
    let mine = r#"
name = "mine"
title = "Mine"
about = "A user's own."
[scales.quick]
[[filesets]]
name = "set"
files = 10
size = "1 kB"
[[phases]]
name = "make"
work = { files = "set", steps = ["create", "write", "close"] }
"#;
    write(&mut catalog, "workloads/mine.toml", mine);
    write(&mut catalog, "workloads/broken.toml", &mine.replace("title", "titel"));
    write(&mut catalog, "workloads/twice.toml", &mine.replace("\"mine\"", "\"small-files\""));
    write(&mut catalog, "plans/own.toml", "name = \"own\"\nworkloads = [\"mine\"]");
    write(&mut catalog, "contenders.toml", "[fast]\nfs = \"ext4\"\nmount = \"noatime\"");
    catalog.add(Kind::Workload, "workloads/fifo.toml".as_ref(), Err("it is a FIFO".into()));
    assert_eq!(catalog.workload("mine").unwrap().title, "Mine");
    assert_eq!(catalog.plan("own").unwrap().workloads[0].name, "mine");
    assert_eq!(catalog.contenders["fast"].mount, "noatime");
    assert_eq!(catalog.problems.len(), 3);
    assert!(catalog.problems[2].1.to_string().contains("fifo.toml: cannot be read: it is a FIFO"));
    let broken = catalog.workload("broken").unwrap_err().to_string();
    assert!(broken.contains("broken.toml:3:1") && broken.contains("did you mean `title`?"), "{broken}");
    assert!(catalog.problems.iter().any(|(_, problem)| problem.to_string().contains("already defined")));
    let missing = catalog.workload("smal-files").unwrap_err().to_string();
    assert!(missing.contains("did you mean `small-files`?"), "{missing}");
    let absent = WorkCatalogue::default().plan("quick").unwrap_err().to_string();
    assert!(absent.contains("unknown plan `quick`"), "{absent}");
}

/// TOML examples of `docs/workloads.md`, in order.
fn examples() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workloads.md");
    let text = std::fs::read_to_string(path).unwrap();
    text.split("```toml ")
        .skip(1)
        .map(|part| part.split_once('\n').unwrap().1.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_examples_of_the_reference_work() {
    let [workload, plan] = &examples()[..] else { panic!("two examples are expected") };
    let workload = workload::Workload::parse(workload, "docs/workloads.md").unwrap_or_else(|error| panic!("{error}"));
    let estimate = workload.compile("quick", &BTreeMap::new(), 1).unwrap().estimate;
    assert_eq!(estimate.files_at_most, 200);
    let plan = Plan::parse(plan, "docs/workloads.md").unwrap_or_else(|error| panic!("{error}"));
    with_known(|_, known| {
        // XFS does not know `commit`.
        assert_eq!(plan.contenders(known).unwrap().len(), 3 * (2 * 2 - 1) + 2);
    });
}

fn multiplied(text: &str) -> Result<AxisProduct, String> {
    let plan = Plan::parse(&format!("name = \"p\"\nworkloads = [\"mail\"]\n{text}"), "p").map_err(|e| e.to_string())?;
    with_known(|_, known| {
        let named = plan.named_contenders(known).map_err(|error| error.to_string())?;
        plan.multiplied(named, known).map_err(|error| error.to_string())
    })
}

#[test]
fn an_axis_multiplies_the_filesystems_that_know_it_and_the_others_enter_once() {
    let field =
        multiplied("compete = [\"xfs\", \"btrfs\"]\n[axes]\nmkfs.rmapbt = [0, 1]\nmount.noatime = [\"on\", \"off\"]\n");
    let field = field.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        labels(&field.contenders),
        [
            "xfs rmapbt=0 noatime=on",
            "xfs rmapbt=0 noatime=off",
            "xfs rmapbt=1 noatime=on",
            "xfs rmapbt=1 noatime=off",
            "btrfs noatime=on",
            "btrfs noatime=off"
        ]
    );
    assert_eq!(field.notes, ["btrfs enters without mkfs.rmapbt, which is unknown there"]);
}

#[test]
fn combinations_that_a_filesystem_excludes_are_left_out_and_noted() {
    let field = multiplied("compete = [\"xfs\"]\n[axes]\nmkfs.crc = [0, 1]\nmkfs.rmapbt = [\"default\", 0, 1]\n");
    let field = field.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(field.contenders.len(), 5);
    assert!(!labels(&field.contenders).contains(&"xfs crc=0 rmapbt=1"));
    assert_eq!(field.notes, ["1 combination of xfs left out: rmapbt needs crc"]);
    assert!(!field.contenders[0].mkfs_settings.contains_key("rmapbt"), "default leaves it to mkfs");
    let all = multiplied("compete = [\"xfs\"]\n[axes]\nmkfs.crc = [0]\nmkfs.rmapbt = [1]\n").unwrap_err();
    assert!(all.contains("leave no contender") && all.contains("rmapbt needs crc"), "{all}");
}

#[test]
fn an_unknown_axis_is_an_error_that_names_known_ones() {
    let error = multiplied("compete = [\"xfs\", \"btrfs\"]\n[axes]\nmkfs.rmapbtt = [0, 1]\n").unwrap_err();
    assert!(error.contains("`mkfs.rmapbtt`") && error.contains("did you mean `mkfs.rmapbt`?"), "{error}");
    let error = multiplied("compete = [\"btrfs\"]\n[axes]\nmkfs.rmapbt = [0, 1]\n").unwrap_err();
    assert!(error.contains("unknown to btrfs") && error.contains("a setting of xfs"), "{error}");
    let error = multiplied("compete = [\"btrfs\"]\n[axes]\nmount.zebra = [\"on\"]\n").unwrap_err();
    assert!(error.contains("btrfs has commit, compress, noatime"), "{error}");
    let error = multiplied("compete = [\"btrfs\"]\n[axes]\nmkfs.csum = [\"md5\"]\n").unwrap_err();
    assert!(error.contains("`md5`") && error.contains("crc32c, xxhash"), "{error}");
    let error = multiplied("compete = [\"xfs\"]\n[axes]\nmkfs.crc = [\"maybe\"]\n").unwrap_err();
    assert!(error.contains("on or off"), "{error}");
}

#[test]
fn axes_of_a_command_line_are_those_of_a_plan() {
    let mut axes = Axes::default();
    for text in
        ["mkfs.rmapbt=0,1", "mount.logbsize=32k, 256k", "scheduler=none", "fill=10%,50%", "device.read_ahead=1M"]
    {
        axes.set(text).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!((axes.of("mkfs.rmapbt").len(), axes.of("mount.logbsize")[1].as_str()), (2, "256k"));
    assert_eq!((axes.of("scheduler").len(), axes.of("fill")), (1, ["10%", "50%"].map(str::to_owned).as_slice()));
    axes.leave_out("mkfs.rmapbt=0,scheduler=none").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(axes.exclude[0].len(), 2);
    for (text, hint) in [
        ("schedule=none", "scheduler"),
        ("mkfs.rmapbt", "NAME=VALUE"),
        ("age=", "1 to"),
        ("fill=many", "many"),
        ("fill=100%", "0 to 99%"),
    ] {
        let error = axes.set(text).expect_err(text);
        assert!(error.contains(hint), "{text}: {error}");
    }
}
