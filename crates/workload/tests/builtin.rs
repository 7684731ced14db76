//! The built-in workloads match `docs/methods.md` and `sources.csv`.

use std::collections::BTreeMap;
use workload::catalogue::WorkCatalogue;
use workload::facts::PhaseFacts;
use workload::program::{
    Cache, Content, Engine, Figure, Fileset, Group, Layout, Names, Order, Over, Pattern, Phase, Program, Size, Step,
};
use workload::{Compiled, Workload};

fn catalog() -> WorkCatalogue {
    WorkCatalogue::builtin().unwrap_or_else(|error| panic!("{error}"))
}

fn compile(name: &str, scale: &str, settings: &[(&str, &str)]) -> Compiled {
    let settings: BTreeMap<String, String> =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    catalog().workload(name).unwrap().compile(scale, &settings, 7).unwrap_or_else(|error| panic!("{error}"))
}

fn phase<'a>(compiled: &'a Compiled, name: &str) -> &'a Phase {
    compiled.program.phases.iter().find(|phase| phase.name == name).unwrap_or_else(|| panic!("no phase {name}"))
}

fn only<'a>(compiled: &'a Compiled, name: &str) -> &'a Group {
    let phase = phase(compiled, name);
    assert_eq!(phase.groups.len(), 1, "{name}");
    &phase.groups[0]
}

fn fileset<'a>(compiled: &'a Compiled, name: &str) -> &'a Fileset {
    compiled.program.filesets.iter().find(|fileset| fileset.name == name).unwrap_or_else(|| panic!("no fileset {name}"))
}

fn measured(compiled: &Compiled) -> Vec<&str> {
    compiled.phases.iter().filter(|phase| !phase.preparation).map(|phase| phase.name.as_str()).collect()
}

#[test]
fn all_compile_at_each_scale_with_every_choice_of_every_option() {
    let catalog = catalog();
    let names: Vec<&str> = catalog.workloads.keys().map(String::as_str).collect();
    let wanted = [
        "aged-read",
        "backup",
        "bonnie",
        "clones",
        "compile",
        "device",
        "directories",
        "find",
        "fragmented-database",
        "git",
        "ior-easy",
        "ior-hard",
        "mail",
        "mdtest-easy",
        "mdtest-hard",
        "media",
        "mirror",
        "nearly-full",
        "postal",
        "postgres",
        "rocksdb",
        "scrub-and-check",
        "sequential",
        "small-files",
        "small-files-parallel",
        "snapshots",
        "source-tree",
        "sqlite",
    ];
    assert_eq!(names, wanted);
    for workload in catalog.workloads.values() {
        let slow_in_guests = ["bonnie", "directories", "mail", "scrub-and-check", "sequential", "small-files"];
        match slow_in_guests.contains(&workload.name.as_str()) {
            true => assert_eq!(workload.scales, ["full", "guest", "quick"]),
            false => assert_eq!(workload.scales, ["full", "quick"]),
        }
        for scale in &workload.scales {
            for option in &workload.options {
                for value in option.allowed.iter().chain([&option.default[scale]]) {
                    let settings = BTreeMap::from([(option.name.clone(), value.clone())]);
                    let compiled = workload.compile(scale, &settings, 1).unwrap_or_else(|error| panic!("{error}"));
                    // Figures printed by programs, and of further groups, come after those of the phases.
                    let (phases, beside) = compiled.phases.split_at(compiled.program.phases.len());
                    let names = |facts: &[PhaseFacts]| facts.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
                    let program: Vec<String> = compiled.program.phases.iter().map(|one| one.name.clone()).collect();
                    assert_eq!(names(phases), program);
                    assert!(names(beside).iter().all(|name| program.contains(name)));
                    // An option at its default has no value.
                    assert_eq!(compiled.settings.get(&option.name).map_or("", String::as_str), *value);
                }
            }
        }
    }
}

#[test]
fn the_content_of_files_can_be_set_for_every_workload_with_files() {
    let catalog = catalog();
    let content = |workload: &str, set: &[(&str, &str)]| {
        let settings = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let compiled = catalog.workloads[workload].compile("quick", &settings, 1).map_err(|error| error.to_string());
        compiled.map(|compiled| compiled.program.filesets.into_iter().map(|one| one.content).collect::<Vec<_>>())
    };
    let logs = Content { pattern: Some(Pattern::Logs), ..Content::default() };
    assert!(content("mail", &[("data", "logs")]).expect("it can").iter().all(|one| *one == logs));
    let some = Content { compressible_percent: 70, duplicate_percent: 20, ..Content::default() };
    let found = content("bonnie", &[("data", "70%"), ("duplicate", "20%")]).expect("it can");
    assert!(found.len() > 2 && found.iter().all(|one| *one == some), "{found:?}");
    // Verified reads stay verified, and require blocks that differ.
    let verified = content("mirror", &[("data", "text")]).expect("it can");
    assert!(verified.iter().any(|one| one.verify && one.pattern == Some(Pattern::Text)), "{verified:?}");
    let refused = content("mirror", &[("data", "zeros")]).expect_err("all blocks are the same");
    assert!(refused.contains("data = zeros") && refused.contains("blocks with different content"), "{refused}");
    let refused = content("mail", &[("data", "101%")]).expect_err("more than all");
    assert!(refused.contains("a compressible share of 101 % is more than 100 %"), "{refused}");
    let has_it = |name: &str| catalog.workloads[name].options.iter().any(|option| option.name == "data");
    assert!(has_it("clones") && !has_it("git"));
}

#[test]
fn an_option_or_variable_of_the_workload_goes_before_that_for_all() {
    let text = |scale: &str, size: &str| {
        format!(
            "name = \"w\"\ntitle = \"W\"\nabout = \"W\"\n[scales.quick]\n{scale}\n[[filesets]]\nname = \"f\"\nfiles = 1\n\
             size = \"{size}\"\n[[phases]]\nname = \"p\"\nwork = {{ files = \"f\", steps = [\"create\", \"write\", \"close\"] }}\n"
        )
    };
    let of = |scale, size| Workload::parse(&text(scale, size), "w.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(of("data = \"4 KiB\"", "$data").options, []);
    assert_eq!(of("size = \"4 KiB\"", "$size").options.len(), 2);
}

#[test]
fn quick_scales_lay_out_at_most_512_mib() {
    for workload in catalog().workloads.values() {
        let estimate = workload.compile("quick", &BTreeMap::new(), 1).unwrap().estimate;
        assert!(estimate.bytes_at_most <= 512 << 20, "{}: {}", workload.name, estimate.bytes_at_most);
    }
}

#[test]
fn equal_seeds_and_settings_make_equal_programs() {
    assert_eq!(compile("bonnie", "full", &[]).program, compile("bonnie", "full", &[]).program);
    assert_eq!(compile("bonnie", "full", &[]).program.seed, 7);
}

#[test]
fn a_large_file_is_written_and_read_uncached_where_that_is_asked_for() {
    let all = compile("sequential", "quick", &[("uncached", "yes")]);
    assert!(only(&all, "write-uncached").io.uncached && only(&all, "read-uncached").io.uncached);
    let usual = compile("sequential", "quick", &[]);
    assert!(usual.program.phases.iter().all(|phase| !phase.name.contains("uncached")));
}

#[test]
fn sequential_is_a_5_gib_file_in_1_mib_blocks() {
    let full = compile("sequential", "full", &[]);
    let file = fileset(&full, "file");
    assert_eq!((file.files, file.size.clone()), (1, Size::Total { bytes: 5 << 30, largest: 5 << 30 }));
    assert!(!file.content.zeros && file.content.compressible_percent == 0);
    for name in ["write-cached", "write-direct", "read-direct", "read-cached", "read-repeated-cold"] {
        let group = only(&full, name);
        assert!(matches!(group.over, Over::Blocks { block: 1_048_576, length: None, .. }), "{name}");
        assert_eq!((group.order, group.count, group.workers), (Order::InOrder, None, 1), "{name}");
        assert_eq!(group.io.direct, name.ends_with("direct"), "{name}");
        assert_eq!(phase(&full, name).cache, Cache::Cold, "{name}");
    }
    let (first, again) = (phase(&full, "read-repeated-cold"), phase(&full, "read-repeated-warm"));
    assert_eq!(first.passes + again.passes, 10);
    assert_eq!((again.pause_ns, again.cache), (1_000_000_000, Cache::AsFound));
    let older = fileset(&full, "older-file");
    assert_eq!(older.size, Size::Total { bytes: 1 << 30, largest: 1 << 30 });
    assert_eq!(phase(&full, "read-as-found").cache, Cache::AsFound);
    let zeros = compile("sequential", "full", &[("size", "1 GiB"), ("data", "zeros"), ("forms", "newer")]);
    assert_eq!(fileset(&zeros, "file").size, Size::Total { bytes: 1 << 30, largest: 1 << 30 });
    assert!(fileset(&zeros, "file").content.zeros);
    assert!(zeros.program.filesets.iter().all(|fileset| fileset.name != "older-file"));
    // 5 GiB written twice and read 3 + 10 - 1 times, then 1 GiB written once and read twice.
    assert_eq!(full.estimate.bytes_written, 11 << 30);
    assert_eq!(full.estimate.bytes_read, (5 * 12 + 2) << 30);
    assert_eq!(full.estimate.bytes_at_most, 5 << 30);
    assert!(full.estimate.needs_direct && full.estimate.needs_cold && !full.estimate.needs_device);
}

#[test]
fn small_files_are_300_000_of_512_to_1536_bytes_in_one_directory() {
    let full = compile("small-files", "full", &[]);
    let files = fileset(&full, "files");
    assert_eq!((files.files, files.size.clone()), (300_000, Size::Uniform(512, 1536)));
    assert_eq!(
        (files.layout.clone(), files.names.clone(), files.directory.as_str()),
        (Layout::Flat, Names::Decimal, "test")
    );
    let steps = ["create-folder", "create", "rewrite", "read-sequential", "read-random", "delete"];
    assert_eq!(measured(&full), steps);
    for name in steps {
        let phase = phase(&full, name);
        assert!(phase.after.sync && phase.after.drop_caches && phase.cache == Cache::Cold, "{name}");
    }
    assert_eq!(only(&full, "create").steps, [Step::Create, Step::Write, Step::Close]);
    assert_eq!(only(&full, "create").count, None);
    let rewrite = only(&full, "rewrite");
    assert_eq!((rewrite.order, rewrite.count), (Order::Random, Some(30_000)));
    assert_eq!(rewrite.steps, [Step::OpenTruncate, Step::Write, Step::Close]);
    let read = only(&full, "read-sequential");
    assert_eq!((read.order, read.first, read.count), (Order::InOrder, 0, Some(30_000)));
    let random = only(&full, "read-random");
    assert_eq!((random.order, random.count), (Order::Random, Some(30_000)));
    assert_eq!((only(&full, "delete").order, &only(&full, "delete").steps), (Order::Readdir, &vec![Step::Unlink]));
    assert_eq!(full.estimate.files_at_most, 300_000);
    assert_eq!(full.estimate.bytes_at_most, 300_000 * 1024);
    assert_eq!(full.estimate.bytes_at_worst, 300_000 * 1536);
    assert_eq!(full.estimate.bytes_written, 330_000 * 1024);
    assert_eq!((full.totals.len(), &full.totals[0].of[..]), (1, &steps.map(String::from)[..]));
    let untimed = compile("small-files", "full", &[("folder", "untimed")]);
    assert_eq!(measured(&untimed), steps[1..], "a call of microseconds is no step then");
    assert_eq!((untimed.totals.len(), untimed.totals[0].operation.as_str()), (1, "total"));
}

#[test]
fn parallel_small_files_are_350_000_a_process_of_50_kb_on_average_200_a_directory() {
    let full = compile("small-files-parallel", "full", &[("processes", "8")]);
    let files = fileset(&full, "files");
    assert_eq!((files.files, files.per_worker, files.layout.clone()), (350_000, true, Layout::PerDirectory(200)));
    let Size::Uniform(smallest, largest) = files.size else { panic!("{:?}", files.size) };
    assert_eq!((smallest + largest) / 2, 50_000);
    for phase in &full.program.phases {
        assert_eq!((phase.groups[0].workers, phase.groups[0].processes), (8, true), "{}", phase.name);
    }
    let write = [Step::Mkdir, Step::Create, Step::Write, Step::Close, Step::Chown, Step::Chmod];
    assert_eq!(only(&full, "write").steps, write);
    let rewrite = &only(&full, "rewrite").steps;
    assert_eq!(rewrite[..3], [Step::Mkdir, Step::Open, Step::Unlink]);
    assert_eq!(rewrite[4..], write[1..]);
    for (name, steps) in [
        ("read", vec![Step::Open, Step::Read, Step::Close]),
        ("stat", vec![Step::Stat]),
        ("unlink", vec![Step::Unlink]),
    ] {
        assert_eq!((only(&full, name).order, &only(&full, name).steps), (Order::Readdir, &steps));
    }
    assert_eq!(full.estimate.files_at_most, 8 * 350_000);
    assert_eq!(full.estimate.bytes_at_most, 8 * 350_000 * 50_000);
    assert_eq!(full.estimate.directories, 8 * (350_000 / 200 + 1));
    let warm = compile("small-files-parallel", "quick", &[("cache", "warm")]);
    assert_eq!(phase(&warm, "read").cache, Cache::Warm);
    assert_eq!(warm.phases.iter().find(|phase| phase.name == "write").unwrap().cache_label, "warm");
}

#[test]
fn bonnie_is_like_2_00_unless_1_03_is_asked_for() {
    let new = compile("bonnie", "full", &[]);
    let big = fileset(&new, "big");
    assert_eq!((big.files, big.size.clone()), (16, Size::Total { bytes: 16 << 30, largest: 1 << 30 }));
    let char_write = only(&new, "per-char-write");
    assert!(matches!(char_write.over, Over::Blocks { block: 1, length: Some(20_971_520), .. }));
    assert!(!char_write.io.stdio && char_write.io.fsync_on_close && char_write.io.create);
    assert_eq!(char_write.io.engine, Engine::Calls);
    assert!(matches!(only(&new, "block-write").over, Over::Blocks { block: 8192, length: None, .. }));
    assert_eq!(only(&new, "block-rewrite").steps, [Step::Read, Step::Modify, Step::Write]);
    let seeks = only(&new, "random-seeks");
    assert_eq!((seeks.count, seeks.workers, seeks.processes, seeks.order), (Some(8192), 5, false, Order::Random));
    assert_eq!(seeks.steps[1], Step::Share(10, vec![Step::Modify, Step::Write]));
    let old = compile("bonnie", "full", &[("form", "1.03")]);
    let char_write = only(&old, "per-char-write");
    assert!(matches!(char_write.over, Over::Blocks { block: 1, length: None, .. }));
    assert!(char_write.io.stdio && !char_write.io.fsync_on_close);
    let seeks = only(&old, "random-seeks");
    assert_eq!((seeks.count, seeks.workers, seeks.processes), (Some(8000), 3, true));
    for compiled in [&new, &old] {
        assert!(compiled.program.phases.iter().all(|phase| phase.cache == Cache::AsFound));
    }
}

#[test]
fn bonnie_takes_n_as_bonnie_does() {
    let plain = compile("bonnie", "full", &[]);
    let files = fileset(&plain, "sequential");
    assert_eq!((files.files, files.size.clone(), files.layout.clone()), (16 * 1024, Size::Uniform(0, 0), Layout::Flat));
    assert_eq!(files.names, Names::NumberThenRandom);
    assert_eq!(fileset(&plain, "random").names, Names::RandomThenNumber);
    assert_eq!(only(&plain, "sequential-stat").steps, [Step::Stat]);
    let ssd = compile("bonnie", "full", &[("n", "200:200")]);
    let files = fileset(&ssd, "sequential");
    assert_eq!((files.files, files.size.clone()), (204_800, Size::Uniform(0, 200)));
    assert_eq!(only(&ssd, "sequential-stat").steps, [Step::Stat, Step::Open, Step::Read, Step::Close]);
    let spread = compile("bonnie", "full", &[("n", "4:4096:512:10"), ("form", "1.03")]);
    let files = fileset(&spread, "random");
    assert_eq!(
        (files.files, files.size.clone(), files.layout.clone()),
        (4096, Size::Uniform(512, 4096), Layout::Directories(10))
    );
    assert_eq!(only(&spread, "random-stat").steps, [Step::Stat]);
    let orders = |name: &str| only(&plain, name).order;
    assert_eq!((orders("sequential-create"), orders("sequential-stat")), (Order::InOrder, Order::Readdir));
    assert_eq!((orders("sequential-delete"), orders("random-create")), (Order::Readdir, Order::InOrder));
    assert_eq!((orders("random-stat"), orders("random-delete")), (Order::Shuffled, Order::Shuffled));
}

#[test]
fn directories_hold_the_same_100_000_names_flat_and_hashed_in_two_levels() {
    let full = compile("directories", "full", &[]);
    let (flat, hashed) = (fileset(&full, "flat"), fileset(&full, "hashed"));
    assert_eq!((flat.files, flat.layout.clone()), (100_000, Layout::Flat));
    assert_eq!((hashed.files, hashed.layout.clone()), (100_000, Layout::Hashed(32, 32)));
    assert_eq!((flat.names.clone(), flat.size.clone()), (hashed.names.clone(), hashed.size.clone()));
    for operation in ["create", "look-up", "list", "delete"] {
        for variant in ["flat", "hashed"] {
            let facts = full.phases.iter().find(|phase| phase.name == format!("{operation}-{variant}")).unwrap();
            assert_eq!((facts.operation.as_str(), facts.variant.as_deref()), (operation, Some(variant)));
        }
    }
    assert_eq!(full.estimate.directories, 1 + 1 + 32 + 32 * 32);
    let listed = full.estimate.phases.iter().find(|phase| phase.name == "list-hashed").unwrap();
    assert_eq!(listed.items, 100_000 + 32 + 32 * 32);
}

#[test]
fn mail_is_written_synced_and_renamed_by_20_writers() {
    let full = compile("mail", "full", &[]);
    let deliver = only(&full, "deliver");
    assert_eq!(deliver.workers, 20);
    let steps = [Step::Create, Step::Write, Step::Fsync, Step::Close, Step::Rename("new".into())];
    assert_eq!(deliver.steps, steps);
    let both = phase(&full, "deliver-and-read");
    assert_eq!((both.groups[0].workers, &both.groups[0].steps[..]), (20, &steps[..]));
    assert_eq!(both.groups[1].order, Order::Follow);
    assert_eq!(both.groups[1].steps[0], Step::Rename("cur".into()));
    assert_eq!(both.groups[1].steps[4], Step::Share(30, vec![Step::Unlink]));
    let items: Vec<u64> = full.estimate.phases.iter().map(|phase| phase.items).collect();
    assert_eq!(items, [50_000, 50_000 + 100_000]);
    assert_eq!(full.estimate.files_at_most, 100_000);
    assert_eq!(only(&compile("mail", "quick", &[("writers", "3")]), "deliver").workers, 3);
}

#[test]
fn device_is_only_read_and_directly() {
    let full = compile("device", "full", &[]);
    for phase in &full.program.phases {
        assert!(!phase.writes && phase.groups[0].io.direct, "{}", phase.name);
        assert_eq!(phase.groups[0].steps, [Step::Read], "{}", phase.name);
    }
    let part = 5u64 << 30;
    assert_eq!(only(&full, "read-sequential").over, Over::Device { block: 1 << 20, length: part });
    assert_eq!(only(&full, "read-random").over, Over::Device { block: 4096, length: part });
    assert!(full.estimate.needs_device && !full.estimate.needs_files && full.program.filesets.is_empty());
    assert_eq!(full.estimate.device_bytes_read, part + 30_000 * 4096 + 30_000 * 8192);
}

#[test]
fn a_small_device_is_read_whole() {
    let mut full = compile("device", "full", &[]);
    full.fit_device((64 << 20) + 1234);
    assert_eq!(only(&full, "read-sequential").over, Over::Device { block: 1 << 20, length: 64 << 20 });
    assert_eq!(only(&full, "read-random").over, Over::Device { block: 4096, length: 64 << 20 });
    assert_eq!(only(&full, "read-random").count, Some(30_000));
}

#[test]
fn every_share_points_at_a_phase_with_the_same_figure() {
    let catalog = catalog();
    let mut shares = 0;
    for workload in catalog.workloads.values() {
        for facts in workload.compile("quick", &BTreeMap::new(), 1).unwrap().phases {
            let Some(of) = &facts.share_of else { continue };
            let (name, phase) = of.split_once('/').unwrap();
            let other = catalog.workload(name).unwrap().compile("quick", &BTreeMap::new(), 1).unwrap();
            let other = other.phases.iter().find(|facts| facts.name == phase).unwrap();
            assert_eq!(facts.figure, other.figure, "{}/{}", workload.name, facts.name);
            shares += 1;
        }
    }
    assert!(shares >= 5, "{shares}");
}

/// Every claim and published figure finds its phase or total, except those of future work.
#[test]
fn claims_and_published_figures_find_their_phases() {
    let catalog = catalog();
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/../../published/claims.csv");
    let claims = std::fs::read_to_string(published).unwrap();
    let mut seen = 0;
    for line in claims.lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let (workload, operation, cache) = (columns[3], columns[4].trim_end_matches(" cpu"), columns[5]);
        // `used` is the age of the filesystem, not a cache state; bonnie's phases carry it as found.
        let cache = if cache == "used" { "as-found" } else { cache };
        let workload: &Workload = catalog.workload(workload).unwrap();
        let compiled = workload.compile("full", &BTreeMap::new(), 1).unwrap();
        let by_phase = compiled.phases.iter().any(|phase| phase.operation == operation && phase.cache_label == cache);
        let by_total = compiled.totals.iter().any(|total| total.operation == operation && total.cache_label == cache);
        assert!(by_phase || by_total, "{line}");
        seen += 1;
    }
    assert_eq!(seen, 43);
}

#[test]
fn verdicts_can_be_put_in_words() {
    for workload in catalog().workloads.values() {
        let compiled = workload.compile("quick", &BTreeMap::new(), 1).unwrap();
        for facts in compiled.phases.iter().filter(|phase| !phase.preparation) {
            assert!(facts.doing.contains("ing "), "{}/{}: {}", workload.name, facts.name, facts.doing);
            assert!(facts.title.len() <= 32, "{}", facts.title);
        }
        let doings: std::collections::BTreeSet<&str> =
            compiled.phases.iter().filter(|phase| !phase.preparation).map(|phase| phase.doing.as_str()).collect();
        assert_eq!(doings.len(), measured(&compiled).len(), "{}", workload.name);
        let runs_programs = compiled.program.phases.iter().any(Phase::is_opaque);
        assert!(runs_programs || compiled.phases.iter().any(|phase| phase.figure != Figure::Seconds));
    }
}

#[test]
fn a_phase_counts_as_hung_after_a_multiple_of_what_it_has_to_do_and_never_before_ten_minutes() {
    for name in ["small-files", "bonnie", "mail", "directories"] {
        let (quick, full) = (compile(name, "quick", &[]).program, compile(name, "full", &[]).program);
        for (index, phase) in full.phases.iter().enumerate() {
            assert!(full.limit_of(index) >= 600 && full.limit_of(index) <= full.time_limit, "{name} {}", phase.name);
        }
        let most = |program: &Program| (0..program.phases.len()).map(|phase| program.limit_of(phase)).max();
        assert!(most(&quick) <= most(&full), "{name}: more work, more patience");
        assert!(most(&quick) < Some(6 * 3600), "{name}: hours for a quick trial");
    }
}

#[test]
fn space_that_programs_may_use_counts_as_used() {
    let held = |scale: &str| compile("rocksdb", scale, &[]).estimate.bytes_at_worst;
    assert_eq!((held("quick"), held("full")), (150_000 * 1000, 20_000_000 * 1000));
}

#[test]
fn workloads_of_programs_declare_how_long_these_take() {
    for workload in catalog().workloads.values() {
        let seconds = |scale: &str| {
            let compiled = compile(&workload.name, scale, &[]);
            let programs = compiled.program.phases.iter().any(Phase::is_opaque);
            let declared = compiled.estimate.programs_ns.map(|ns| ns as f64 / 1e9);
            assert_eq!(programs, declared.is_some(), "{} at scale {scale}", workload.name);
            declared
        };
        let (quick, full) = (seconds("quick"), seconds("full"));
        assert!(quick <= full, "{}: {quick:?}, {full:?}", workload.name);
        // Three rounds on three filesystems in two minutes, including setup and checks.
        assert!(quick <= Some(12.0), "{}: {quick:?}", workload.name);
    }
}
