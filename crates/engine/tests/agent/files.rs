//! Work on whole files: the requested files exist in the directory afterwards, and are counted.
//! In: small programs. Out: trees of files and outcomes.
//! No test here depends on how long anything takes.

use crate::common::*;
use std::path::Path;
use workload::message::{Reply, Request};
use workload::program::*;

#[test]
fn files_are_created_with_the_sizes_that_were_drawn_and_read_to_their_end() {
    let dir = folder();
    let set = fileset("test", 500, Size::Uniform(512, 1536));
    let p =
        program(dir.path(), vec![set], vec![phase(vec![group(FILES, &create())]), phase(vec![group(FILES, &read())])]);
    let mut agent = Agent::with(&p);
    let written = agent.done(0);
    let read = agent.done(1);
    let sizes: Vec<u64> = (0..500).map(|i| dir.path().join(format!("test/{i}")).metadata().unwrap().len()).collect();
    assert!(sizes.iter().all(|s| (512..=1536).contains(s)));
    assert_eq!(written.items, 500);
    assert_eq!(written.bytes_written, sizes.iter().sum::<u64>());
    assert_eq!(read.bytes_read, written.bytes_written);
    assert!(written.durable_ns.unwrap() >= written.returned_ns);
    assert!(read.durable_ns.is_none());
    let latency = &read.groups[0].latency;
    assert_eq!(latency.keys().collect::<Vec<_>>(), ["close", "item", "open", "read"]);
    assert!(latency.values().all(|h| h.count == 500 && h.min_ns > 0 && h.mean_ns >= h.min_ns as f64));
}

#[test]
fn rewriting_draws_another_size_and_other_content() {
    let dir = folder();
    let set = fileset("test", 200, Size::Uniform(512, 1536));
    let rewrite = Group {
        order: Order::Random,
        count: Some(50),
        ..group(FILES, &[Step::OpenTruncate, Step::Write, Step::Close])
    };
    let p = program(dir.path(), vec![set], vec![phase(vec![group(FILES, &create())]), phase(vec![rewrite])]);
    let mut agent = Agent::with(&p);
    agent.done(0);
    let files = || (0..200).map(|i| std::fs::read(dir.path().join(format!("test/{i}"))).unwrap()).collect::<Vec<_>>();
    let before = files();
    assert_eq!(agent.done(1).items, 50);
    let changed: Vec<(Vec<u8>, Vec<u8>)> = before.into_iter().zip(files()).filter(|(a, b)| a != b).collect();
    // Fifty draws with replacement out of two hundred hit 44 of them on average.
    assert!((35..=50).contains(&changed.len()), "{}", changed.len());
    assert!(changed.iter().filter(|(a, b)| a.len() != b.len()).count() > 30);
}

#[test]
fn unlinking_in_readdir_order_leaves_nothing() {
    let dir = folder();
    let mut set = fileset("many", 3_000, Size::Uniform(0, 10));
    set.layout = Layout::PerDirectory(200);
    set.names = Names::NumberThenRandom;
    let remove = Group { order: Order::Readdir, workers: 2, ..group(FILES, &[Step::Unlink]) };
    let p = program(dir.path(), vec![set], vec![phase(vec![group(FILES, &create())]), phase(vec![remove])]);
    let mut agent = Agent::with(&p);
    agent.done(0);
    assert_eq!(tree(dir.path()).len(), 3_000);
    assert_eq!(dir.path().join("many").read_dir().unwrap().count(), 15);
    let removed = agent.done(1);
    assert_eq!(removed.items, 3_000);
    assert!(tree(dir.path()).is_empty());
    assert!(removed.groups[0].latency["readdir"].count >= 30);
}

#[test]
fn one_directory_is_shared_by_readdir_workers_without_overlap() {
    let dir = folder();
    let set = fileset("flat", 2_000, Size::Uniform(1, 1));
    let stat = Group { order: Order::Readdir, workers: 3, ..group(FILES, &[Step::Stat]) };
    let p = program(dir.path(), vec![set], vec![phase(vec![group(FILES, &create())]), phase(vec![stat])]);
    let mut agent = Agent::with(&p);
    agent.done(0);
    assert_eq!(agent.done(1).items, 2_000);
}

#[test]
fn each_process_has_its_own_files_and_carries_out_every_step() {
    let dir = folder();
    let mut set = fileset("small", 450, Size::Uniform(100, 300));
    (set.per_worker, set.layout) = (true, Layout::PerDirectory(200));
    let write = [Step::Mkdir, Step::Create, Step::Write, Step::Close, Step::Chown, Step::Chmod];
    let rewrite = [&[Step::Mkdir, Step::Unlink], &write[1..]].concat();
    let two = |order, steps: &[Step]| phase(vec![Group { workers: 2, processes: true, order, ..group(FILES, steps) }]);
    let phases = vec![
        two(Order::InOrder, &write),
        two(Order::InOrder, &rewrite),
        two(Order::Readdir, &read()),
        two(Order::Readdir, &[Step::Stat]),
        two(Order::Readdir, &[Step::Unlink]),
    ];
    let p = program(dir.path(), vec![set], phases);
    let mut agent = Agent::with(&p);
    let items: Vec<u64> = (0..2).map(|i| agent.done(i).items).collect();
    assert_eq!(items, [900, 900]);
    use std::os::unix::fs::PermissionsExt;
    let mode = dir.path().join("small/1/00002/449").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    assert_eq!((2..5).map(|i| agent.done(i).items).collect::<Vec<_>>(), [900, 900, 900]);
    assert!(tree(dir.path()).is_empty());
}

#[test]
fn hashed_directories_are_made_listed_and_removed() {
    let dir = folder();
    let mut set = fileset("h", 1_000, Size::Uniform(0, 0));
    set.layout = Layout::Hashed(8, 8);
    let fill = [Step::Mkdir, Step::Create, Step::Close];
    let look_up = Group { order: Order::Shuffled, ..group(FILES, &[Step::LookUp]) };
    let phases = vec![
        phase(vec![group(FILES, &fill)]),
        phase(vec![look_up]),
        phase(vec![group(DIRECTORIES, &[Step::List])]),
        phase(vec![Group { order: Order::Readdir, ..group(FILES, &[Step::Unlink]) }]),
        phase(vec![group(DIRECTORIES, &[Step::Rmdir])]),
    ];
    let p = program(dir.path(), vec![set], phases);
    let mut agent = Agent::with(&p);
    assert_eq!(agent.done(0).items, 1_000);
    assert_eq!(agent.done(1).items, 1_000);
    // Files, directories of the second level, and of the first.
    assert_eq!(agent.done(2).items, 1_000 + 64 + 8);
    assert_eq!(agent.done(3).items, 1_000);
    assert_eq!(agent.done(4).items, 1 + 8 + 64);
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_tree_is_laid_out_listed_rewritten_and_removed() {
    let dir = folder();
    let level =
        |classes: &[(u64, u64)]| classes.iter().map(|&(count, files)| Directories { count, files }).collect::<Vec<_>>();
    let class = |weight, least, most| Class { weight, least, most };
    let levels = vec![level(&[(1, 2)]), level(&[(2, 0), (3, 6)]), level(&[(5, 0), (2, 40)])];
    let mut set = fileset("tree", 100, Size::Classes(vec![class(1, 0, 0), class(3, 1_000, 2_000)]));
    set.layout = Layout::Tree(levels);
    set.names = Names::Lengths(vec![class(1, 3, 3), class(1, 20, 29)]);
    let by_name = |steps: &[Step]| Group { order: Order::Readdir, ..group(FILES, steps) };
    let rewrite = Group { order: Order::Random, ..group(FILES, &[Step::OpenTruncate, Step::Write, Step::Close]) };
    let phases = vec![
        phase(vec![group(DIRECTORIES, &[Step::Mkdir])]),
        phase(vec![group(FILES, &create())]),
        phase(vec![group(DIRECTORIES, &[Step::List])]),
        phase(vec![by_name(&read())]),
        phase(vec![rewrite]),
        phase(vec![by_name(&[Step::Unlink])]),
        phase(vec![group(DIRECTORIES, &[Step::Rmdir])]),
    ];
    let p = program(dir.path(), vec![set.clone()], phases);
    let mut agent = Agent::with(&p);
    assert_eq!([agent.done(0).items, agent.done(1).items], [13, 100]);
    let files = tree(dir.path());
    let depth = |depth: usize| files.iter().filter(|path| path.matches('/').count() == depth).count();
    assert_eq!([depth(1), depth(2), depth(3)], [2, 18, 80]);
    let size = |path: &String| dir.path().join(path).metadata().unwrap().len();
    let sizes: Vec<u64> = files.iter().map(size).collect();
    assert_eq!(sizes.iter().filter(|size| **size == 0).count(), 25);
    assert!(sizes.iter().all(|size| *size == 0 || (1_000..=2_000).contains(size)));
    let names: Vec<u64> = files.iter().map(|path| path.rsplit('/').next().unwrap().len() as u64).collect();
    assert_eq!(names.iter().filter(|length| **length == 3).count(), 50);
    // What is planned is what is laid out.
    let planned: Vec<engine::PlannedFile> = engine::Planned::new(p.seed, 0, &set).files().collect();
    let sorted = |mut numbers: Vec<u64>| {
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(sorted(planned.iter().map(|file| file.bytes).collect()), sorted(sizes));
    assert_eq!(sorted(planned.iter().map(|file| file.name_bytes).collect()), sorted(names));
    // Files and directories below the first.
    assert_eq!((2..7).map(|i| agent.done(i).items).collect::<Vec<_>>(), [112, 100, 100, 100, 13]);
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}

#[test]
fn directories_that_no_name_belongs_into_are_left_out_and_lost_ones_are_not() {
    let dir = folder();
    let mut set = fileset("h", 10, Size::Uniform(0, 0));
    set.layout = Layout::Hashed(8, 8);
    let phases = vec![
        phase(vec![group(FILES, &[Step::Mkdir, Step::Create, Step::Close])]),
        phase(vec![group(DIRECTORIES, &[Step::List])]),
        phase(vec![Group { order: Order::Readdir, ..group(FILES, &[Step::Unlink]) }]),
        phase(vec![group(DIRECTORIES, &[Step::Rmdir])]),
    ];
    let p = program(dir.path(), vec![set], phases);
    let mut agent = Agent::with(&p);
    assert_eq!(agent.done(0).items, 10);
    let files = tree(dir.path());
    let folders: std::collections::BTreeSet<_> = files.iter().flat_map(|f| Path::new(f).ancestors().skip(1)).collect();
    // Each folder except the base, which belongs to the root, is listed once, each file once.
    let below_base = folders.len() - 2;
    assert_eq!(agent.done(1).items, (files.len() + below_base) as u64);
    assert_eq!(agent.done(2).items, 10);
    std::fs::remove_dir(dir.path().join(&files[0]).parent().unwrap()).unwrap();
    let (reason, _) = agent.failed(3);
    assert!(reason.contains("No such file"), "{reason}");
}

#[test]
fn mail_is_delivered_and_read_side_by_side() {
    let dir = folder();
    let mut sets =
        vec![fileset("mail/tmp", 600, Size::Uniform(500, 5_000)), fileset("mail/new", 600, Size::Uniform(0, 0))];
    sets.iter_mut().for_each(|s| s.names = Names::Maildir);
    let deliver = [Step::Create, Step::Write, Step::Fsync, Step::Close, Step::Rename("new".into())];
    let writers = Group { workers: 6, ..group(FILES, &deliver) };
    let remove = Step::Share(50, vec![Step::Unlink]);
    let take = [Step::Rename("cur".into()), Step::Open, Step::Read, Step::Close, remove];
    let over = Over::Files { fileset: 1 };
    let readers = Group { name: "readers".into(), workers: 2, order: Order::Follow, ..group(over, &take) };
    let p = program(dir.path(), sets, vec![phase(vec![writers, readers])]);
    let first = Agent::with(&p).done(0);
    assert_eq!(first.groups.iter().map(|g| g.items).collect::<Vec<_>>(), [600, 600]);
    let left = tree(dir.path());
    assert!(left.iter().all(|f| f.starts_with("mail/cur/")), "{left:?}");
    assert!((240..360).contains(&left.len()), "{}", left.len());
    assert_eq!(first.bytes_read, first.bytes_written);
    std::fs::remove_dir_all(dir.path().join("mail")).unwrap();
    assert_eq!(Agent::with(&p).done(0).work_hash, first.work_hash, "the same mail, whichever worker was first");
}

#[test]
fn equal_programs_do_equal_work_and_another_seed_does_not() {
    let hash = |seed| {
        let dir = folder();
        let mut p = program(
            dir.path(),
            vec![fileset("t", 100, Size::Uniform(0, 9_000))],
            vec![
                phase(vec![group(FILES, &create())]),
                phase(vec![Group { order: Order::Readdir, ..group(FILES, &read()) }]),
            ],
        );
        p.seed = seed;
        let mut agent = Agent::with(&p);
        (agent.done(0).work_hash, agent.done(1).work_hash)
    };
    assert_eq!(hash(5), hash(5));
    assert_ne!(hash(5), hash(6));
}

#[test]
fn links_are_made_beside_their_files() {
    let dir = folder();
    let p = program(
        dir.path(),
        vec![fileset("", 20, Size::Uniform(1, 1))],
        vec![phase(vec![group(FILES, &[create(), vec![Step::Link(".x".into())]].concat())])],
    );
    assert_eq!(Agent::with(&p).done(0).items, 20);
    assert!(tree(dir.path()).contains(&"7.x".to_owned()));
}

#[test]
fn cached_pages_are_counted_after_warming() {
    let dir = folder();
    let set = fileset("t", 64, Size::Uniform(8_192, 8_192));
    let phases = vec![phase(vec![group(FILES, &create())]), phase(vec![group(FILES, &read())])];
    let p = program(dir.path(), vec![set], phases);
    let mut agent = Agent::with(&p);
    agent.done(0);
    assert_eq!(agent.ask(&Request::Warm { phase: 1 }), Reply::Warmed { bytes: 64 * 8_192 });
    assert_eq!(agent.ask(&Request::CountCached { phase: 1 }), Reply::Cached { bytes: Some(64 * 8_192), files: 64 });
}

/// `BAKEOFF_MANY_FILES=1000000` makes it long; the default is short.
#[test]
fn many_files_are_deleted_in_readdir_order() {
    let asked = std::env::var("BAKEOFF_MANY_FILES").ok().and_then(|text| text.parse().ok());
    let many: u64 = asked.unwrap_or(100_000);
    let dir = folder();
    let set = fileset("many", many, Size::Uniform(0, 0));
    let remove = Group { order: Order::Readdir, ..group(FILES, &[Step::Unlink]) };
    let phases = vec![phase(vec![group(FILES, &[Step::Create, Step::Close])]), phase(vec![remove])];
    let mut p = program(dir.path(), vec![set], phases);
    p.time_limit = 600;
    let mut agent = Agent::with(&p);
    assert_eq!(agent.done(0).items, many);
    let removed = agent.done(1);
    assert_eq!((removed.items, removed.errors.count), (many, 0));
    assert_eq!(removed.groups[0].latency["unlink"].count, many);
    assert!(tree(dir.path()).is_empty());
}

#[test]
fn the_order_in_which_phases_are_named_changes_nothing_that_they_do() {
    let work = |swapped: bool| {
        let dir = folder();
        let shuffled = Group { order: Order::Shuffled, ..group(FILES, &read()) };
        let mut reads = [("a", group(FILES, &read())), ("b", shuffled)];
        if swapped {
            reads.reverse();
        }
        let mut phases = vec![phase(vec![group(FILES, &create())])];
        phases.extend(reads.iter().map(|(_, g)| phase(vec![g.clone()])));
        let set = fileset("t", 300, Size::Uniform(0, 5_000));
        let mut agent = Agent::with(&program(dir.path(), vec![set], phases));
        agent.done(0);
        let mut done: Vec<(&str, u64, u64)> = Vec::new();
        for (number, (name, _)) in reads.iter().enumerate() {
            let outcome = agent.done(number + 1);
            done.push((name, outcome.bytes_read, outcome.work_hash));
        }
        done.sort_unstable();
        done
    };
    assert_eq!(work(false), work(true));
}

#[test]
fn files_that_did_not_fit_are_not_expected_later() {
    let folder = folder();
    let many = Fileset { layout: Layout::PerDirectory(10), ..fileset("filler", 50_000, Size::Uniform(1, 1)) };
    let filling = group(Over::Space { fileset: Some(0) }, &[Step::Fill(0)]);
    let remove = Group { order: Order::Readdir, workers: 2, ..group(FILES, &[Step::Unlink]) };
    let some = Group { count: Some(25), ..group(FILES, &create()) };
    let phases = vec![phase(vec![some]), phase(vec![filling]), phase(vec![remove])];
    let mut agent = Agent::with(&program(folder.path(), vec![many], phases));
    agent.done(0);
    assert_eq!(agent.done(1).items, 0, "it is as full as was asked for");
    let removed = agent.done(2);
    assert_eq!((removed.items, removed.errors.count), (25, 0), "{:?}", removed.errors);
    assert!(tree(folder.path()).is_empty());
}
