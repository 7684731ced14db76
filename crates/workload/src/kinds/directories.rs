//! Work on directories: one item a directory.

use super::Kind;
use crate::compile::Outcome;
use crate::error::Problem;
use crate::fileset;
use crate::program::{Fileset, Group, Order, Step, has};
use crate::simulate::{Work, World, beyond};
use crate::steps::{not_by_readdir, only};

/// The directories of a fileset.
pub(crate) struct Directories {
    pub fileset: usize,
}

impl Kind for Directories {
    fn check(&self, group: &Group) -> Outcome<()> {
        not_by_readdir(group, "directories")?;
        only(&group.steps, "directories", &|step| {
            let looks = matches!(step, Step::List | Step::Stat | Step::LookUp | Step::FsyncDirectory);
            looks || matches!(step, Step::Mkdir | Step::Rmdir | Step::Chmod | Step::Chown)
        })
    }

    fn simulate(&self, world: &mut World, group: &Group) -> Outcome<Work> {
        world.over_directories(group, self.fileset)
    }
}

impl World<'_> {
    fn over_directories(&mut self, group: &Group, index: usize) -> Outcome<Work> {
        let fileset = &self.filesets[index];
        let owners = self.owners(group, index);
        let directories = fileset::directories(fileset);
        let state = &mut self.states[index];
        let makes = has(&group.steps, &Step::Mkdir);
        if !makes && !state.directories {
            return Err(no_directories(fileset));
        }
        if has(&group.steps, &Step::Rmdir) && state.files > 0 {
            return Err(Problem::new(format!(
                "it removes the directories of fileset `{}`, but they contain {} files",
                fileset.name, state.files
            ))
            .help("unlink the files in an earlier phase"));
        }
        state.directories = !has(&group.steps, &Step::Rmdir);
        let items = group.count.unwrap_or(directories.saturating_sub(group.first));
        let within = group.first.saturating_add(items) <= directories || group.order == Order::Random;
        if !within || items == 0 {
            return Err(beyond(group, directories, "directories", &fileset.name));
        }
        // A listing counts the entries that it finds: the files, and all directories except the top one.
        let listed = has(&group.steps, &Step::List);
        let found = if listed { state.files.saturating_add(directories - 1) } else { items };
        Ok(Work { items: found.saturating_mul(owners), ..Work::default() })
    }
}

fn no_directories(fileset: &Fileset) -> Problem {
    Problem::new(format!("at that point the directories of fileset `{}` do not exist", fileset.name))
        .help("put \"mkdir\" first, or create files in an earlier phase")
}
