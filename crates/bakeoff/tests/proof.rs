//! Reads that a cache served instead of the disk are detected and shown with the figure; a truly cold read is not marked.
//! In: small runs on images, on a loop device through the page cache, and as an unprivileged user. Out: the text of `show`.
//! Needs root, loop devices, ext4 and btrfs; without them the tests are skipped with a message.

mod support;

use std::path::Path;
use std::process::Command;
use support::{Place, root};

const COLD: &str = r#"
name = "cold-file"
title = "A file, read cold"
about = "Writes a file and reads it from a cold start."
[options.data]
about = "what it holds"
default = "incompressible"
allowed = ["incompressible", "zeros"]
[scales.quick]
[[filesets]]
name = "file"
total = "8 MiB"
content = "$data"
[[phases]]
name = "write"
doing = "writing a file"
cache = "as-found"
figure = "bytes/s"
work = { blocks = "file", block = "1 MiB", create = true, steps = ["write"] }
[[phases]]
name = "read"
doing = "reading a file"
cache = "cold"
figure = "bytes/s"
work = { blocks = "file", block = "64 KiB", steps = ["read"] }
"#;

/// Phrases that mark a read as served by a cache.
const ACCUSED: [&str; 3] = ["% from a cache", "cache below", "not all bytes read came from the device"];

fn place() -> Place {
    let place = Place::new();
    place.write("cold-file.toml", COLD);
    place
}

/// Joins sentences that are folded at the terminal's width.
fn unfolded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn answer(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

#[test]
fn a_truly_cold_read_is_not_accused() {
    if !root("cold reads") {
        return;
    }
    let place = place();
    let words = "--image 300M --scratch . --samples 1 --no-twin --no-report --plain";
    place.bakeoff(&format!("run cold-file.toml --fs ext4,btrfs {words}")).well();
    let output = unfolded(&place.bakeoff("show --full").well().out);
    for words in ACCUSED {
        assert!(!output.contains(words), "{output}");
    }
}

#[test]
fn data_that_is_stored_as_next_to_nothing_is_found() {
    if !root("compressed data") {
        return;
    }
    let words = "--image 300M --scratch . --samples 1 --no-twin --no-report --plain --set data=zeros";
    let place = place();
    let shown = place.bakeoff(&format!("run cold-file.toml --fs btrfs --mount btrfs=compress-force=zstd {words}"));
    let first = unfolded(&shown.well().out);
    assert!(first.contains("partly from a cache"), "the first screen says so: {first}");
    let shown = unfolded(&place.bakeoff("show --full").well().out);
    assert!(shown.contains("% from a cache") && shown.contains("the data is stored in less space"), "{shown}");
}

#[test]
fn a_loop_device_through_the_page_cache_and_caches_that_cannot_be_dropped_are_reported() {
    if !root("loop devices") {
        return;
    }
    let place = place();
    let Some(mounted) = Mounted::through_the_page_cache(&place) else {
        prerequisites::leave_out("loop_devices", "no loop device could be mounted");
        return;
    };
    let words = "--samples 1 --no-report --plain";
    place.bakeoff(&format!("run cold-file.toml --dir mnt {words}")).well();
    let printed = unfolded(&place.bakeoff("show --full").well().out);
    assert!(printed.contains("direct I/O is off"), "{printed}");

    let folder = mounted.folder.join("unused");
    std::fs::create_dir(&folder).expect("a folder");
    std::os::unix::fs::chown(&folder, Some(65_534), Some(65_534)).expect("its owner is changed");
    std::fs::write(folder.join("cold-file.toml"), COLD).expect("a file is written");
    let program = folder.join("bakeoff");
    std::fs::copy(env!("CARGO_BIN_EXE_bakeoff"), &program).expect("the program is copied");
    let as_nobody = |words: &str| {
        Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(&program)
            .args(words.split_whitespace())
            .current_dir(&folder)
            .env("HOME", &folder)
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_RUNTIME_DIR")
            .output()
            .expect("setpriv starts")
    };
    as_nobody(&format!("run cold-file.toml --dir . {words}"));
    let printed = as_nobody("show --full");
    let text = unfolded(&String::from_utf8_lossy(&printed.stdout));
    assert!(text.contains("warm: caches could not be dropped"), "{text}{}", String::from_utf8_lossy(&printed.stderr));
}

/// An ext4 on a loop device without direct I/O; unmounted, detached and removed on drop.
struct Mounted {
    device: String,
    folder: std::path::PathBuf,
}

impl Mounted {
    fn through_the_page_cache(place: &Place) -> Option<Mounted> {
        let image = place.path("image");
        std::fs::File::create(&image).and_then(|file| file.set_len(1 << 30)).ok()?;
        let folder = place.path("mnt");
        std::fs::create_dir(&folder).ok()?;
        let device = answer("losetup", &["--find", "--show", "--direct-io=off", image.to_str()?])?;
        let mounted = Mounted { device, folder };
        answer("mkfs.ext4", &["-q", &mounted.device])?;
        answer("mount", &[&mounted.device, mounted.folder.to_str()?])?;
        traversable(place.folder());
        Some(mounted)
    }
}

/// Makes a folder accessible to other users.
fn traversable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).expect("permissions are set");
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).status();
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}
