//! Mutated filesystem files are read or refused, never with a panic.

#[path = "../../../tests/mutate.rs"]
mod mutate;

use std::path::Path;

#[test]
fn files_of_filesystems_with_parts_changed_are_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filesystems");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    let samples: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).expect("the file")).collect();
    mutate::fuzz("filesystems", &samples, 3000, Path::new(env!("CARGO_TARGET_TMPDIR")), |bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Err(error) = staging::Filesystem::parse("changed", "changed.toml", &text) {
            assert!(!error.to_string().is_empty());
        }
    });
}
