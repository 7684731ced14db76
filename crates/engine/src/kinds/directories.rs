//! Work on directories: one item a directory.

use super::Kind;
use super::files::file_work;
use crate::cached::Visit;
use crate::check::{Check, fileset_exists};
use crate::dirs::{self, Listing};
use crate::prepare::owners;
use crate::sys::{self, Fd};
use crate::worker::Task;
use workload::program::{Group, Order, Program, Step};

/// The directories of a fileset.
pub struct Directories {
    pub fileset: usize,
}

impl Kind for Directories {
    fn check(&self, program: &Program, group: &Group) -> Check {
        fileset_exists(program, self.fileset)?;
        let fits = |s: &Step| {
            let always = matches!(s, Step::Mkdir | Step::Rmdir | Step::List | Step::Stat | Step::LookUp);
            always || matches!(s, Step::Chmod | Step::Chown | Step::FsyncDirectory | Step::Fsync)
        };
        if !group.steps.iter().all(fits) {
            return Err(
                "only mkdir, rmdir, list, stat, look-up, chmod, chown and fsync are steps over directories".into()
            );
        }
        if matches!(group.order, Order::Readdir | Order::Follow) {
            return Err("directories can only be visited in order, shuffled or at random".into());
        }
        Ok(())
    }

    fn work(&self, task: &Task) -> Result<(), String> {
        let mut work = file_work(task, self.fileset)?;
        let mut pacer = task.pacer();
        task.wait_for_start();
        let mut tally = task.tally(&work.ops);
        work.on_directories(&mut tally, &mut pacer);
        tally.finish();
        Ok(())
    }

    /// Directories are warmed by listing them; they have no countable pages.
    fn visit(&self, program: &Program, group: &Group, root: Fd, _: u64, _: &mut Visit) -> Result<u64, String> {
        for files in owners(program, group, self.fileset) {
            let mut handles = dirs::Directories::new(root, &files);
            for directory in 0..files.directories() {
                let Ok(fd) = handles.get(directory, &files) else { continue };
                let mut listing = Listing::new();
                sys::seek(fd, 0).map_err(|e| format!("listing {}: {e}", files.base))?;
                while listing.fetch(fd).map_err(|e| format!("listing {}: {e}", files.base))? {}
            }
        }
        Ok(0)
    }
}
