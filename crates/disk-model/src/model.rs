//! Disk models by name.
//! In: `disks/*.toml`, compiled in, or the text of a user's file. Out: [`Model`].

use crate::description::{self, Machine, Parts};
use crate::error::ModelError;
use include_dir::{Dir, include_dir};
use std::sync::LazyLock;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/disks");

/// One described disk, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    name: String,
    parts: Parts,
}

impl Model {
    /// Parses a description; `name` is the model's name, also in errors.
    ///
    /// # Errors
    /// Not TOML, an unknown or missing key, a number out of range or without a source, or inconsistent numbers.
    pub fn parse(name: &str, text: &str) -> Result<Model, ModelError> {
        description::read(name, text).map(|parts| Model { name: name.into(), parts })
    }

    /// Its name, such as `hdd-7200`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One line about the described disk.
    pub fn title(&self) -> &str {
        &self.parts.title
    }

    /// Whether it has rotating platters.
    pub fn is_rotational(&self) -> bool {
        matches!(self.parts.machine, Machine::HardDisk(_))
    }

    /// Capacity in bytes, whole sectors of 512.
    pub fn capacity(&self) -> u64 {
        self.parts.capacity
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.parts.machine
    }
}

/// The models that are compiled in, ordered by name.
pub fn shipped() -> &'static [Model] {
    static SHIPPED: LazyLock<Vec<Model>> = LazyLock::new(|| {
        let mut models: Vec<Model> = FILES.files().filter_map(embedded).collect();
        models.sort_by(|one, other| one.name.cmp(&other.name));
        models
    });
    &SHIPPED
}

/// Omits a file that cannot be parsed, which a caller could not handle. A test fails on it instead.
fn embedded(file: &include_dir::File<'_>) -> Option<Model> {
    let name = file.path().file_stem()?.to_str()?;
    Model::parse(name, file.contents_utf8()?).ok()
}

/// Finds a compiled-in model.
pub fn named(name: &str) -> Option<&'static Model> {
    shipped().iter().find(|model| model.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_can_be_read() {
        for file in FILES.files() {
            let name = file.path().display().to_string();
            Model::parse(&name, file.contents_utf8().expect("text")).expect("it is good");
        }
        let names: Vec<&str> = shipped().iter().map(Model::name).collect();
        assert_eq!(names, ["hdd-2008", "hdd-5400", "hdd-7200", "nvme-qlc", "nvme-tlc", "ssd-sata"]);
    }
}
