//! Layers between a filesystem and its disks: encryption, logical volumes, RAID, caches.
//! In: `layers/*.toml`, compiled in, and a stack as a user writes it (`lvm+luks:sector-size=4096`). Out: the commands that build it, show it and
//! take it down.
//! To add a layer, write a file of this form in `layers/`. Nothing is run here.
#![forbid(unsafe_code)]

mod description;
mod stack;

pub use description::{Choice, Layer, Tool, Value};
pub use stack::{NONE, ONE_DISK, Places, Rung, Stack};

use include_dir::{Dir, include_dir};
use std::sync::LazyLock;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/layers");

/// The layers that are compiled in, ordered by name.
pub fn shipped() -> &'static [Layer] {
    static SHIPPED: LazyLock<Vec<Layer>> = LazyLock::new(|| {
        let mut layers: Vec<Layer> = FILES.files().filter_map(|file| embedded(file)?.ok()).collect();
        layers.sort_by(|one, other| one.name.cmp(&other.name));
        layers
    });
    &SHIPPED
}

/// A file of the folder, parsed. One that cannot be parsed is omitted above, and a test fails on it.
fn embedded(file: &include_dir::File<'_>) -> Option<Result<Layer, String>> {
    let name = file.path().file_stem()?.to_str()?;
    Some(Layer::parse(name, file.contents_utf8()?))
}

/// Finds a layer by its name.
pub fn named(name: &str) -> Option<&'static Layer> {
    shipped().iter().find(|layer| layer.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_can_be_read() {
        let read: Vec<_> = FILES.files().filter_map(embedded).collect();
        let problems: Vec<&String> = read.iter().filter_map(|one| one.as_ref().err()).collect();
        assert!(problems.is_empty() && read.len() > 10, "{problems:?}");
        assert!(named("luks").is_some_and(|luks| luks.devices == 1 && luks.title == "LUKS2"));
        assert_eq!((named("raid10").map(|raid| raid.devices), named("luks2")), (Some(4), None));
    }
}
