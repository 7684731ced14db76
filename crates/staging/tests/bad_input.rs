//! Bad input for devices, sizes, tools and directories: one clear error each, and nothing is touched.
//! In: mistakes of users. Out: errors that name the mistake and what to do.
//! A folder that must stay empty proves that nothing was made.

mod common;

use common::{Bench, MIB, root};
use records::Cause;
use staging::Where;

#[test]
fn sizes_below_a_filesystems_smallest_are_refused_before_anything_is_made() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    for (name, mib, least) in [
        ("ext4", 1, "2 MiB"),
        ("ext3", 1, "2 MiB"),
        ("btrfs", 50, "109 MiB"),
        ("xfs", 200, "300 MiB"),
        ("zfs", 32, "64 MiB"),
    ] {
        let mut target = bench.open(&bench.image(mib)).expect("the image itself is possible");
        let error = target.check(&bench.contender(name)).expect_err("too small");
        assert_eq!(error.cause(), Cause::Lasting, "{error}");
        let text = error.to_string();
        assert!(text.contains(name) && text.contains("too small") && text.contains(least), "{text}");
        assert!(target.stage(&bench.contender(name)).is_err());
        assert_eq!(std::fs::read_dir(bench.folder.path()).expect("there").count(), 0);
    }
}

#[test]
fn the_smallest_size_that_is_allowed_really_works() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    for name in ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs"] {
        let smallest = staging::systems(&bench.registry, &bench.journal)
            .into_iter()
            .find(|system| system.name == name)
            .expect("known")
            .smallest_bytes;
        let place = Where::Image { bytes: smallest, folder: bench.folder.path().into() };
        let mut target = bench.open(&place).expect("an image");
        let stage = target.stage(&bench.contender(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        std::fs::metadata("/").expect("still alive");
        stage.close().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn an_image_larger_than_the_free_space_is_refused() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let target = bench.open(&bench.image(1 << 40)).expect("a folder");
    let error = target.check(&bench.contender("ext4")).expect_err("an exbibyte");
    let text = error.to_string();
    assert!(text.contains("too large") && text.contains("free"), "{text}");
}

#[test]
fn a_raw_read_longer_than_the_device_is_refused() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(16)).expect("an image");
    let error = target.stage_raw(&records::Contender::plain(records::DEVICE), 17 * MIB).expect_err("too much");
    assert!(error.to_string().contains("too large"), "{error}");
}

#[test]
fn a_missing_tool_names_its_package() {
    if !root() {
        return;
    }
    let mut bench = Bench::new();
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../filesystems/xfs.toml")).expect("there");
    let text = text.replace("program = \"mkfs.xfs\"", "program = \"mkfs.not-there\"");
    bench.registry.add_file("odd.toml".as_ref(), &text).expect("good");
    bench.registry = bench.registry.may_run();
    let target = bench.open(&bench.image(400)).expect("an image");
    let error = target.check(&staging::Contender::plain("odd")).expect_err("no such tool");
    assert_eq!(error.cause(), Cause::Lasting);
    assert!(
        error.to_string().contains("mkfs.not-there") && error.to_string().contains("apt-get install xfsprogs"),
        "{error}"
    );
    let odd = staging::systems(&bench.registry, &bench.journal)
        .into_iter()
        .find(|system| system.name == "odd")
        .expect("listed");
    assert!(!odd.can_compete && odd.help.iter().any(|line| line.contains("xfsprogs")), "{odd:?}");
}

#[test]
fn a_filesystem_that_the_kernel_lacks_is_reported_with_a_remedy() {
    let mut bench = Bench::new();
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../filesystems/xfs.toml")).expect("there");
    let text = text.replace("kernel = \"xfs\"", "kernel = \"no-such-fs\"");
    bench.registry.add_file("odd.toml".as_ref(), &text).expect("good");
    let odd = staging::systems(&bench.registry, &bench.journal)
        .into_iter()
        .find(|system| system.name == "odd")
        .expect("listed");
    assert!(!odd.can_compete && odd.obstacles.iter().any(|line| line.contains("no-such-fs")), "{odd:?}");
}

#[test]
fn a_path_that_is_no_device_or_directory_is_an_error() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let device = |path: &str| Where::Device { path: path.into(), erase: None };
    let text = bench.open(&device("/dev/null")).expect_err("a character device").to_string();
    assert!(text.contains("not a block device"), "{text}");
    let text = bench.open(&device("/dev/no-such-disk")).expect_err("nothing").to_string();
    assert!(text.contains("/dev/no-such-disk"), "{text}");
    let text = bench.open(&Where::Directory("/etc/hostname".into())).expect_err("a file").to_string();
    assert!(text.contains("not a directory"), "{text}");
    let text = bench.open(&Where::Directory("/proc/self".into())).map(|mut target| {
        target
            .stage(&staging::Contender { filesystem: staging::DIRECTORY.into(), ..staging::Contender::plain("here") })
            .map(|_| ())
    });
    let error = match text {
        Ok(Err(error)) | Err(error) => error.to_string(),
        Ok(Ok(())) => panic!("no folder can be made in /proc/self"),
    };
    assert!(error.contains("/proc/self") || error.contains("/proc/"), "{error}");
}

#[test]
fn a_directory_is_measured_as_it_is_and_left_as_it_was() {
    let bench = Bench::new();
    std::fs::write(bench.folder.path().join("mine"), "precious").expect("written");
    let mut target = bench.open(&Where::Directory(bench.folder.path().into())).expect("writable");
    let contender = staging::Contender { filesystem: staging::DIRECTORY.into(), ..staging::Contender::plain("here") };
    let mut stage = target.stage(&contender).expect("staged");
    std::fs::write(stage.root().join("file"), vec![7; 1 << 16]).expect("written");
    assert!(!stage.found().filesystem.is_empty());
    assert!(!stage.found().remarks.is_empty());
    let dropped = stage.drop_caches().expect("as far as it goes");
    assert_eq!(dropped.complete, stage.found().cold_possible);
    assert!(dropped.complete || dropped.remarks.iter().any(|remark| remark.contains("warm")));
    stage.close().expect("closed");
    let names: Vec<_> =
        std::fs::read_dir(bench.folder.path()).expect("there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["mine"]);
    let error = target.stage(&bench.contender("ext4")).expect_err("not in a directory");
    assert!(error.to_string().contains("--on"), "{error}");
}
