//! Images in memory, on request: they are created there, measured, reported as such, and removed afterwards.

mod support;

use support::{Place, root};

const RUN: &str = "small-files --fs ext4,xfs --set files=200 --set some=50 --image 330MiB --samples 3 --seed 7 --no-twin \
                   --scratch memory";

/// Whether images can be made in memory here; if not, the test counts as left out.
fn has_memory() -> bool {
    let able = root("images in memory");
    if let Err(why) = system::in_memory::folder() {
        prerequisites::leave_out("memory-folder", &why);
        return false;
    }
    able
}

/// Images of this program in memory.
fn images() -> Vec<String> {
    let entries = std::fs::read_dir(system::in_memory::FOLDER).expect("the folder in memory");
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("bakeoff-") && name.ends_with(".img")).collect()
}

#[test]
fn images_in_memory_are_asked_for_by_name_and_leave_nothing() {
    if !has_memory() {
        return;
    }
    let place = Place::new();
    let before = images();
    let planned = place.bakeoff(&format!("plan {RUN}")).well();
    assert!(planned.out.contains("in memory: /dev/shm"), "{}", planned.out);
    let run = place.bakeoff(&format!("run {RUN} --plain --no-report")).well();
    let one_line = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("In memory: figures show CPU cost, without a disk."), "{}", run.out);
    let shown: serde_json::Value = serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON");
    assert_eq!(shown["run"]["in_memory"], true);
    assert_eq!(shown["failures"].as_array().map(Vec::len), Some(0), "{}", shown["failures"]);
    assert_eq!(images(), before, "left behind");
}

#[test]
fn an_image_larger_than_memory_is_refused_before_any_file_is_made() {
    if !has_memory() {
        return;
    }
    let place = Place::new();
    let run = RUN.replace("330MiB", "900TiB");
    place.bakeoff(&format!("run {run} --plain")).refused(&["900 TiB", "has", "free"]);
}
