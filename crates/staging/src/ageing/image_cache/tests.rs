//! The cache on plain files: kept, found, restored, verified; planted, exchanged, damaged.
//! In: separate folders. Out: assertions on what is used, and on what stays.

use super::*;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};

struct Bench {
    folder: tempfile::TempDir,
    records: tempfile::TempDir,
    cache: AgedCache,
}

impl Bench {
    fn new(limit: u64) -> Bench {
        let (folder, records) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
        let cache = AgedCache::with_records(folder.path().join("aged"), limit, records.path().into());
        cache.make().expect("made");
        Bench { folder, records, cache }
    }

    /// A file of the run with these letters at this offset.
    fn part(&self, letter: u8, at: u64, number: u32) -> OwnedImage {
        let folder = Folder::open(&self.cache.make().expect("made")).expect("there");
        let name = owned::image_name("0a1b2c3d", number);
        let made = OwnedImage::create(folder, &name, "0a1b2c3d", &Maker::current()).expect("made");
        let mut file = &*made.file;
        file.set_len(8 << 20).expect("sparse");
        file.seek(SeekFrom::Start(at)).expect("sought");
        file.write_all(&[letter; 200_000]).expect("written");
        made
    }

    fn keep(&self, letter: u8) -> AgedImage {
        self.keep_as(letter, letter.into())
    }

    fn keep_as(&self, letter: u8, number: u32) -> AgedImage {
        let part = self.part(letter, 3 << 20, number);
        let image = self.cache.keep(&part, &key(letter), "it", AgedState::default()).expect("kept");
        part.release().expect("released");
        image
    }

    fn restore(&self, image: &AgedImage, number: u32) -> Result<PathBuf, StagingError> {
        let folder = Folder::open(self.folder.path()).expect("there");
        let name = owned::image_name("0a1b2c3d", number);
        let copy = OwnedImage::create(folder, &name, "0a1b2c3d", &Maker::current()).expect("made");
        self.cache.restore_to_file(image, &copy, &Journal::new()).map(|()| copy.path())
    }

    fn unusable(&self, letter: u8) -> String {
        match self.cache.look(&key(letter)).expect("looked") {
            Cached::Unusable(why) => why,
            other => panic!("{other:?}"),
        }
    }

    /// Changes the record, as if another process of this user had made the image.
    fn of_another_run(&self, image: &AgedImage) {
        let mut other = image.clone();
        other.maker.owner.started += 1;
        self.cache.records().expect("open").write(&other).expect("written");
    }
}

fn key(number: u8) -> String {
    format!("{number:032x}")
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mine to change");
}

#[test]
fn a_copy_is_proven_equal_and_a_kept_image_that_rots_is_damaged_and_forgotten() {
    let bench = Bench::new(1 << 30);
    let image = bench.keep(7);
    assert_eq!(bench.cache.find(&key(7)), Some(image.clone()));
    let copy = bench.restore(&image, 1).expect("restored");
    assert_eq!(std::fs::read(copy).expect("read"), std::fs::read(image.file()).expect("read"));
    bench.cache.verify(&image).expect("whole");
    // One byte of the kept image rots.
    let file = File::options().write(true).open(image.file()).expect("opened");
    file.write_all_at(&[8], (3 << 20) + 5).expect("written");
    let error = bench.restore(&image, 2).expect_err("it is another");
    assert!(matches!(error, StagingError::Damaged { .. }), "{error}");
    assert_eq!(bench.cache.look(&key(7)).expect("looked"), Cached::Nothing);
    assert!(!image.file().exists(), "its room is free for the one that is made anew");
}

#[test]
fn the_limit_is_kept_by_removing_what_was_used_longest_ago() {
    let bench = Bench::new(500_000);
    let soon = || std::thread::sleep(Duration::from_millis(20));
    let first = bench.keep(1);
    soon();
    bench.keep(2);
    soon();
    bench.restore(&first, 9).expect("restored");
    soon();
    bench.keep(3);
    let there: Vec<bool> = (1..=3).map(|number| bench.cache.find(&key(number)).is_some()).collect();
    assert_eq!(there, [true, false, true]);
}

#[test]
fn a_planted_image_is_not_used_and_stays() {
    let bench = Bench::new(1 << 30);
    // The layout of version 0.1: the hash is beside the image, where an attacker can write it too.
    let planted = bench.cache.folder.join(format!("{}.img", key(4)));
    std::fs::write(&planted, "planted").expect("written");
    std::fs::write(planted.with_extension("json"), r#"{"version": 1, "hash": "as they like"}"#).expect("written");
    let why = bench.unusable(4);
    assert!(why.contains("no record") && why.contains(&bench.records.path().display().to_string()), "{why}");
    assert_eq!(bench.cache.strangers().len(), 1);
    let own = bench.keep(4);
    assert_eq!(bench.cache.find(&key(4)), Some(own));
    assert_eq!(std::fs::read_to_string(&planted).expect("it stays"), "planted");
}

#[test]
fn an_image_that_was_exchanged_for_another_file_is_not_used_and_the_other_stays() {
    let bench = Bench::new(1 << 30);
    let image = bench.keep(5);
    let content = std::fs::read(image.file()).expect("read");
    std::fs::rename(image.file(), bench.folder.path().join("moved")).expect("moved");
    std::fs::write(image.file(), &content).expect("planted");
    assert!(bench.unusable(5).contains("not the aged image that bakeoff made there"));
    bench.cache.remove(&image).expect("forgotten");
    assert_eq!(std::fs::read(image.file()).expect("it stays"), content);
    // Nor is a link to the real one, or to anything else.
    std::fs::remove_file(image.file()).expect("removed");
    std::os::unix::fs::symlink(bench.folder.path().join("moved"), image.file()).expect("linked");
    bench.cache.records().expect("open").write(&image).expect("written");
    assert!(bench.unusable(5).contains("not the aged image that bakeoff made there"));
}

#[test]
fn where_others_can_write_only_what_this_run_made_is_used() {
    let bench = Bench::new(1 << 30);
    let image = bench.keep(6);
    mode(&bench.cache.folder, 0o777);
    assert_eq!(bench.cache.find(&key(6)), Some(image.clone()), "its hash proves it to the run that made it");
    bench.of_another_run(&image);
    let why = bench.unusable(6);
    assert!(why.contains("can be written by everybody") && why.contains("--scratch"), "{why}");
    mode(&bench.cache.folder, 0o755);
    assert!(bench.cache.find(&key(6)).is_some(), "no other user can write there any more");
    mode(&image.file(), 0o664);
    assert!(bench.unusable(6).contains("can be written by its group"));
}

#[test]
fn a_short_image_and_an_unreadable_record_are_made_anew() {
    let bench = Bench::new(1 << 30);
    let image = bench.keep(1);
    File::options().write(true).open(image.file()).expect("opened").set_len(1000).expect("cut");
    assert!(bench.unusable(1).contains("1000 bytes instead of"));
    assert_eq!(bench.cache.look(&key(1)).expect("looked"), Cached::Nothing);
    bench.keep(2);
    let records: Vec<_> = std::fs::read_dir(bench.records.path()).expect("there").flatten().collect();
    let record = records.iter().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "json"));
    std::fs::write(record.expect("a record"), "{ cut off").expect("written");
    assert!(bench.unusable(2).contains("cannot be read"));
    assert!(bench.cache.find(&key(2)).is_none());
    bench.keep_as(2, 3);
    assert!(bench.cache.find(&key(2)).is_some(), "made anew");
}

#[test]
fn a_record_of_an_image_that_is_gone_means_nothing_and_goes_in_the_end() {
    let bench = Bench::new(1 << 30);
    let image = bench.keep(1);
    std::fs::remove_file(image.file()).expect("removed");
    assert_eq!(bench.cache.look(&key(1)).expect("looked"), Cached::Nothing);
    assert!(bench.cache.all().is_empty());
    let count = || {
        std::fs::read_dir(bench.records.path())
            .expect("there")
            .flatten()
            .filter(|e| e.file_name().to_string_lossy().ends_with(".json"))
            .count()
    };
    bench.cache.tidy();
    assert_eq!(count(), 1, "its image may be on the way");
    for record in std::fs::read_dir(bench.records.path()).expect("there").flatten() {
        let hour = std::time::SystemTime::now() - Duration::from_secs(3600);
        File::options().append(true).open(record.path()).expect("opened").set_modified(hour).expect("set back");
    }
    bench.cache.tidy();
    assert_eq!(count(), 0);
}

#[test]
fn a_link_leads_to_a_folder_of_the_caches_own_and_not_among_a_users_files() {
    let (folder, records) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
    let real = folder.path().join("real");
    std::fs::create_dir_all(real.join("lost+found")).expect("made");
    let link = folder.path().join("aged");
    std::os::unix::fs::symlink(&real, &link).expect("linked");
    let cache = AgedCache::with_records(link, u64::MAX, records.path().into());
    let bench = Bench { folder, records, cache };
    assert_eq!(bench.cache.make().expect("it is empty"), real.canonicalize().expect("there"));
    bench.keep(b'a');
    bench.cache.make().expect("it holds what is ours");
    std::fs::write(real.join("letter"), "dear").expect("written");
    let error = bench.cache.make().expect_err("it holds a letter").to_string();
    assert!(error.contains("is a link to") && error.contains("letter"), "{error}");
}
