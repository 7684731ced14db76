//! Disks that are described, by name.
//! In: `disks/*.toml`, compiled in, or the text of a user's own file. Out: [`Model`].

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
    /// Reads a description; `name` is what it is called, and what errors call it.
    ///
    /// # Errors
    /// No TOML, a key that is not known or missing, a number out of its range or without a source, numbers that do not go together.
    pub fn parse(name: &str, text: &str) -> Result<Model, ModelError> {
        description::read(name, text).map(|parts| Model { name: name.into(), parts })
    }

    /// What it is called: `hdd-7200`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One line that says which disk is described.
    pub fn title(&self) -> &str {
        &self.parts.title
    }

    /// It has platters that turn.
    pub fn is_rotational(&self) -> bool {
        matches!(self.parts.machine, Machine::HardDisk(_))
    }

    /// Bytes of the described disk, whole sectors of 512.
    pub fn capacity(&self) -> u64 {
        self.parts.capacity
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.parts.machine
    }
}

/// The disks that are compiled in, in the order of their names.
pub fn shipped() -> &'static [Model] {
    static SHIPPED: LazyLock<Vec<Model>> = LazyLock::new(|| {
        let mut models: Vec<Model> = FILES.files().filter_map(embedded).collect();
        models.sort_by(|one, other| one.name.cmp(&other.name));
        models
    });
    &SHIPPED
}

/// A file that cannot be read is left out, and a test fails over it: whoever uses this cannot do anything about it.
fn embedded(file: &include_dir::File<'_>) -> Option<Model> {
    let name = file.path().file_stem()?.to_str()?;
    Model::parse(name, file.contents_utf8()?).ok()
}

/// Looks a compiled one up.
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
