//! Scans of real folders: what is counted, what is followed, where a scan ends.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;
use tree::{DEEPEST_LEVEL, Limits, Profile, ScanError, scan};

const LIMITS: Limits = Limits { files: 1_000_000, time: Duration::from_secs(600), cross_mounts: false };

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn write(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, bytes).expect("written");
}

fn scanned(root: &Path) -> Profile {
    scan(root, &LIMITS).expect("scanned")
}

#[test]
fn files_and_directories_are_counted_by_level() {
    let root = folder();
    for path in ["a", "b", "d/c", "d/e/f", "d/e/g", "d/e/h"] {
        write(root.path(), path, &[1; 1000]);
    }
    fs::create_dir(root.path().join("empty")).unwrap();
    let found = scanned(root.path());
    assert_eq!((found.files(), found.directories(), found.bytes()), (6, 4, 6_000));
    let levels: Vec<(u64, u128)> = found.levels.iter().map(|level| (level.count(), level.sum())).collect();
    assert_eq!(levels, [(1, 2), (2, 1), (1, 3)]);
    assert_eq!(found.file_levels.largest(), 2);
    assert_eq!(found.left_out, tree::LeftOut::default());
}

#[test]
fn links_are_not_followed_and_names_of_one_file_count_once() {
    let (root, other) = (folder(), folder());
    write(other.path(), "outside", b"x");
    write(root.path(), "file", b"x");
    fs::hard_link(root.path().join("file"), root.path().join("name")).unwrap();
    fs::hard_link(root.path().join("file"), root.path().join("other-name")).unwrap();
    symlink(other.path(), root.path().join("link")).unwrap();
    symlink(root.path(), root.path().join("loop")).unwrap();
    let found = scanned(root.path());
    assert_eq!((found.files(), found.further_names, found.symbolic_links), (1, 2, 2));
    // The folder itself may be named by a link.
    assert_eq!(scanned(&root.path().join("loop")).files(), 1);
}

#[test]
fn data_is_sampled() {
    let root = folder();
    let noise: Vec<u8> =
        (0u32..40_000).flat_map(|n| n.wrapping_mul(0x9e37_79b9).rotate_left(n % 31).to_le_bytes()).collect();
    for number in 0..10 {
        write(root.path(), &format!("zeros-{number}"), &[0; 100_000]);
        write(root.path(), &format!("noise-{number}"), &noise[number * 7..][..100_000 + number]);
    }
    let found = scanned(root.path());
    let share = |of: tree::Sampled| of.share.expect("a share");
    assert!((0.4..0.7).contains(&share(found.compressible)), "{:?}", found.compressible);
    // Nine of the ten files of zeros are copies.
    assert!((share(found.duplicate) - 0.45).abs() < 0.01, "{:?}", found.duplicate);
    assert_eq!((found.duplicate.looked_at, found.compressible.looked_at), (20, 20));
    assert_eq!(found.sparse, 0);
    fs::File::create(root.path().join("hole")).unwrap().set_len(1 << 20).unwrap();
    let again = scanned(root.path());
    assert_eq!((again.sparse, again.compressible.looked_at), (1, 20));
}

#[test]
fn a_scan_changes_nothing() {
    use std::os::unix::fs::MetadataExt;
    let root = folder();
    write(root.path(), "d/file", &[1; 5_000]);
    let times = || {
        ["", "d", "d/file"].map(|path| {
            let facts = root.path().join(path).metadata().unwrap();
            (facts.atime(), facts.atime_nsec(), facts.mtime_nsec(), facts.ctime_nsec())
        })
    };
    let before = times();
    scanned(root.path());
    assert_eq!(times()[2], before[2]);
    assert_eq!(times().map(|(_, _, modified, changed)| (modified, changed)), before.map(|(_, _, m, c)| (m, c)));
}

#[test]
fn a_scan_ends_at_its_limits_and_counts_what_is_left() {
    let root = folder();
    for number in 0..100 {
        write(root.path(), &format!("{}/{number}", number % 10), b"x");
    }
    let found = scan(root.path(), &Limits { files: 25, ..LIMITS }).expect("scanned");
    assert_eq!((found.files(), found.left_out.limit), (25, Some("files")));
    assert_eq!(found.left_out.unread, 7);
}

#[test]
fn deeper_levels_count_to_the_last() {
    let root = folder();
    let deep = "d/".repeat(DEEPEST_LEVEL + 3);
    write(root.path(), &format!("{deep}file"), b"x");
    let found = scanned(root.path());
    assert_eq!((found.levels.len(), found.too_deep), (DEEPEST_LEVEL + 1, 3));
    assert_eq!(found.file_levels.largest(), DEEPEST_LEVEL as u64);
}

#[test]
fn a_path_without_a_usable_tree_is_refused() {
    let root = folder();
    assert!(matches!(scan(root.path(), &LIMITS), Err(ScanError::Empty { directories: 1, .. })));
    write(root.path(), "file", b"x");
    assert!(matches!(scan(&root.path().join("file"), &LIMITS), Err(ScanError::NoFolder(_))));
    assert!(matches!(scan(&root.path().join("none"), &LIMITS), Err(ScanError::Refused { .. })));
    assert!(matches!(scan(Path::new("/proc/self"), &LIMITS), Err(ScanError::OfTheKernel(_))));
}
