//! Work on files: one item a file.

use super::Kind;
use crate::compile::Outcome;
use crate::error::Problem;
use crate::fileset::{mean_bytes, most_bytes};
use crate::program::{Fileset, Group, Layout, Order, Step, any, has};
use crate::simulate::{Work, World, beyond, creates, share_left, times};
use crate::steps::{closes_what_it_opens, without_block_settings};
use crate::validate::target;

/// The files of a fileset.
pub(crate) struct Files {
    pub fileset: usize,
}

impl Kind for Files {
    fn check(&self, group: &Group) -> Outcome<()> {
        without_block_settings(group)?;
        closes_what_it_opens(group)?;
        named_files_have_names(group)
    }

    fn simulate(&self, world: &mut World, group: &Group) -> Outcome<Work> {
        world.over_files(group, self.fileset)
    }
}

/// An unnamed file is lost when it is closed, and cannot be found by name.
fn named_files_have_names(group: &Group) -> Outcome<()> {
    let nameless = has(&group.steps, &Step::OpenTmpfile);
    if has(&group.steps, &Step::LinkTmpfile) && !nameless {
        return Err(Problem::new("\"link-tmpfile\" names a file that was opened without a name")
            .help("open it with \"open-tmpfile\""));
    }
    Ok(())
}

impl World<'_> {
    fn over_files(&mut self, group: &Group, index: usize) -> Outcome<Work> {
        let fileset = &self.filesets[index];
        let copies = any(&group.steps, &|step| matches!(step, Step::Reflink(_) | Step::CopyRange(_)));
        if copies && fileset.layout != Layout::Flat {
            return Err(Problem::new(format!("the files of fileset `{}` are in several directories", fileset.name))
                .help("clones and copies need files in one directory: use `layout = \"flat\"`"));
        }
        let owners = self.owners(group, index);
        let items = self.taken(group, index)?;
        // The engine creates the directories for new files before the clock starts, unless the steps create them.
        if creates(&group.steps) || has(&group.steps, &Step::Mkdir) {
            self.states[index].directories = true;
        }
        let renamed = self.rename_targets(group, index);
        let left = share_left(&group.steps, 1.0);
        let state = &mut self.states[index];
        if creates(&group.steps) && !matches!(group.order, Order::Readdir | Order::Follow) {
            let end = group.first.saturating_add(items);
            // Files before `first` may have been moved, so a range beyond the existing files only adds to them.
            let files =
                if group.first > state.files { state.files.saturating_add(items) } else { end.max(state.files) };
            state.files = files.min(fileset.files);
        }
        let gone = (items as f64 * (1.0 - left)).round() as u64;
        state.files = state.files.saturating_sub(gone);
        if gone > 0 || creates(&group.steps) || has(&group.steps, &Step::OpenTruncate) {
            state.bytes = None;
        }
        if let Some(percent) = cut_to(&group.steps) {
            state.bytes = Some((u128::from(mean_bytes(fileset, state.files)) * u128::from(percent) / 100) as u64);
        }
        for (to, share) in renamed {
            let arrived = (items as f64 * share).round() as u64;
            match to {
                Some(to) => {
                    let most = self.filesets[to].files;
                    let state = &mut self.states[to];
                    state.files = state.files.saturating_add(arrived).min(most);
                    state.directories = true;
                }
                None => self.moved(fileset, arrived, owners),
            }
        }
        let bytes = |share: f64| (mean_bytes(fileset, items) as f64 * share) as u64;
        Ok(Work {
            items: items.saturating_mul(owners),
            bytes_written: bytes(times(&group.steps, &Step::Write)).saturating_mul(owners),
            bytes_read: bytes(times(&group.steps, &Step::Read)).saturating_mul(owners),
        })
    }

    /// Files that a group takes from each owner; checks that they exist.
    fn taken(&self, group: &Group, index: usize) -> Outcome<u64> {
        let (fileset, state) = (&self.filesets[index], &self.states[index]);
        let name = &fileset.name;
        let needed = needs_file(&group.steps);
        if needed && state.files == 0 {
            return Err(Problem::new(format!(
                "it needs the files of fileset `{name}`, but no earlier phase creates them, or all are removed"
            ))
            .help("add a phase that creates them; `preparation = true` keeps it out of the results"));
        }
        match group.order {
            Order::Readdir | Order::Follow if !needed => Err(Problem::new(format!(
                "readdir finds only files that exist, but its steps create those of `{name}`"
            ))
            .help("create with `order = \"in-order\"`")),
            Order::Readdir | Order::Follow => Ok(group.count.unwrap_or(state.files).min(state.files)),
            Order::Random if group.first >= fileset.files => Err(beyond(group, fileset.files, "files", name)),
            Order::Random if needed && state.files < fileset.files => Err(Problem::new(format!(
                "it draws from all {} files of fileset `{name}`, but at that point only {} exist",
                fileset.files, state.files
            ))),
            Order::Random if !needed => {
                Err(Problem::new(format!("drawing with replacement does not create all files of fileset `{name}`"))
                    .help("create them in order or shuffled"))
            }
            Order::Random => Ok(group.count.unwrap_or(fileset.files)),
            Order::InOrder | Order::Strided | Order::Shuffled => {
                let items = group.count.unwrap_or(fileset.files.saturating_sub(group.first));
                let end = group.first.saturating_add(items);
                if end > fileset.files || items == 0 {
                    return Err(beyond(group, fileset.files, "files", name));
                }
                if needed && end > state.files {
                    return Err(Problem::new(format!(
                        "it needs {end} files of fileset `{name}`, but at that point only {} exist",
                        state.files
                    )));
                }
                Ok(items)
            }
        }
    }

    /// Targets of renames, clones or copies, each with the share of items that stays there: a fileset, or an undeclared directory.
    fn rename_targets(&self, group: &Group, index: usize) -> Vec<(Option<usize>, f64)> {
        let mut targets = Vec::new();
        for (place, step) in group.steps.iter().enumerate() {
            let (to, left) = match step {
                Step::Rename(to) => (to, share_left(&group.steps[place + 1..], 1.0)),
                Step::Reflink(to) | Step::CopyRange(to) => (to, 1.0),
                _ => continue,
            };
            let directory = target(&self.filesets[index].directory, to);
            let found = self.filesets.iter().position(|fileset| fileset.directory == directory);
            targets.push((found, left));
        }
        targets
    }

    /// Moves files into a directory outside all filesets.
    fn moved(&mut self, fileset: &Fileset, files: u64, owners: u64) {
        let sum = &mut self.elsewhere;
        sum.0 = sum.0.saturating_add(files.saturating_mul(owners));
        sum.1 = sum.1.saturating_add(mean_bytes(fileset, files).saturating_mul(owners));
        sum.2 = sum.2.saturating_add(most_bytes(fileset, files).saturating_mul(owners));
    }
}

/// The share that files are truncated to, in percent.
fn cut_to(steps: &[Step]) -> Option<u8> {
    steps.iter().rev().find_map(|step| if let Step::Truncate(percent) = step { Some(*percent) } else { None })
}

/// Whether the first step on the file requires it to exist.
fn needs_file(steps: &[Step]) -> bool {
    for step in steps {
        match step {
            Step::Mkdir | Step::FsyncDirectory => {}
            Step::Share(_, inner) if needs_file(inner) => return true,
            Step::Share(..) => {}
            Step::Create | Step::OpenTmpfile => return false,
            _ => return true,
        }
    }
    false
}
