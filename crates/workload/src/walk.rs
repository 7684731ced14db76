//! The files of a workload as they would stand while its phases go by.
//! In: groups, one after the other. Out: what each does in items and bytes, or why it cannot be done.
//! Only numbers are kept, so a workload of 2^40 files is walked through at once.

use crate::check::{end_to_end, target};
use crate::compile::Outcome;
use crate::error::Problem;
use crate::fileset::{self, mean_bytes, most_bytes};
use crate::program::{Fileset, Group, Layout, Order, Over, Step};

/// What a group does, all its workers together, one pass.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub items: u64,
    pub bytes_written: u64,
    pub bytes_read: u64,
}

/// One fileset at one moment, for each owner.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Files that exist; those with the lowest numbers.
    files: u64,
    /// Bytes from the start, end to end, that have been written where the fileset is used by blocks.
    bytes: Option<u64>,
    /// Owners: more than one for a fileset per worker.
    owners: u64,
    /// Its directories are there.
    directories: bool,
}

pub(crate) struct World<'a> {
    filesets: &'a [Fileset],
    states: Vec<State>,
    /// Files, mean bytes and most bytes that were renamed into directories of no fileset.
    elsewhere: (u64, u64, u64),
}

impl<'a> World<'a> {
    pub fn new(filesets: &'a [Fileset]) -> Self {
        let there =
            |fileset: &Fileset| fileset.directory.is_empty() && fileset.layout == Layout::Flat && !fileset.per_worker;
        let states =
            filesets.iter().map(|fileset| State { directories: there(fileset), owners: 1, ..State::default() });
        World { filesets, states: states.collect(), elsewhere: (0, 0, 0) }
    }

    /// Directories of all filesets, whether there yet or not.
    pub fn directories(&self) -> u64 {
        let each = |(fileset, state): (&Fileset, &State)| fileset::directories(fileset).saturating_mul(state.owners);
        self.filesets.iter().zip(&self.states).map(each).fold(0, u64::saturating_add)
    }

    /// Files, mean bytes and most bytes that exist now.
    pub fn present(&self) -> (u64, u64, u64) {
        let mut sum = self.elsewhere;
        for (fileset, state) in self.filesets.iter().zip(&self.states) {
            let mean = state.bytes.unwrap_or_else(|| mean_bytes(fileset, state.files));
            let most = state.bytes.unwrap_or_else(|| most_bytes(fileset, state.files));
            sum.0 = sum.0.saturating_add(state.files.saturating_mul(state.owners));
            sum.1 = sum.1.saturating_add(mean.saturating_mul(state.owners));
            sum.2 = sum.2.saturating_add(most.saturating_mul(state.owners));
        }
        sum
    }

    pub fn perform(&mut self, group: &Group) -> Outcome<Work> {
        match group.over {
            Over::Files { fileset } => self.over_files(group, fileset),
            Over::Blocks { fileset, block, length } => self.over_blocks(group, fileset, block, length),
            Over::Directories { fileset } => self.over_directories(group, fileset),
            Over::Device { block, length } => over_device(group, block, length),
            // How many there are is known only where they were made.
            Over::Aged => Ok(Work { items: group.count.unwrap_or(1), ..Work::default() }),
        }
    }

    fn owners(&mut self, group: &Group, index: usize) -> u64 {
        if self.filesets[index].per_worker {
            self.states[index].owners = u64::from(group.workers);
        }
        self.states[index].owners
    }

    fn over_files(&mut self, group: &Group, index: usize) -> Outcome<Work> {
        let fileset = &self.filesets[index];
        let owners = self.owners(group, index);
        let items = self.taken(group, index)?;
        // The engine makes the directories of files that are created before the clock starts, unless the steps do.
        if creates(&group.steps) || crate::steps::any(&group.steps, &Step::Mkdir) {
            self.states[index].directories = true;
        }
        let renamed = self.rename_targets(group, index);
        let left = share_left(&group.steps, 1.0);
        let state = &mut self.states[index];
        if creates(&group.steps) && !matches!(group.order, Order::Readdir | Order::Follow) {
            let end = group.first.saturating_add(items);
            // Those before `first` may have gone elsewhere, so a range beyond what exists only adds to it.
            let files =
                if group.first > state.files { state.files.saturating_add(items) } else { end.max(state.files) };
            state.files = files.min(fileset.files);
        }
        let gone = (items as f64 * (1.0 - left)).round() as u64;
        state.files = state.files.saturating_sub(gone);
        if gone > 0 || creates(&group.steps) || crate::steps::any(&group.steps, &Step::OpenTruncate) {
            state.bytes = None;
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

    /// Files that a group takes from each owner, after making sure that they are there.
    fn taken(&self, group: &Group, index: usize) -> Outcome<u64> {
        let (fileset, state) = (&self.filesets[index], &self.states[index]);
        let name = &fileset.name;
        let needed = needs_file(&group.steps);
        if needed && state.files == 0 {
            return Err(Problem::new(format!(
                "it needs the files of fileset `{name}`, which no phase before creates, or all are gone"
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
                "it draws from all {} files of fileset `{name}`, but only {} exist then",
                fileset.files, state.files
            ))),
            Order::Random if !needed => {
                Err(Problem::new(format!("drawing with replacement does not create all files of fileset `{name}`"))
                    .help("create them in order or shuffled"))
            }
            Order::Random => Ok(group.count.unwrap_or(fileset.files)),
            Order::InOrder | Order::Shuffled => {
                let items = group.count.unwrap_or(fileset.files.saturating_sub(group.first));
                let end = group.first.saturating_add(items);
                if end > fileset.files || items == 0 {
                    return Err(beyond(group, fileset.files, "files", name));
                }
                if needed && end > state.files {
                    return Err(Problem::new(format!(
                        "it needs {end} files of fileset `{name}`, but only {} exist then",
                        state.files
                    )));
                }
                Ok(items)
            }
        }
    }

    /// Where files are renamed to, with the share of items that stays there: a fileset, or no declared one.
    fn rename_targets(&self, group: &Group, index: usize) -> Vec<(Option<usize>, f64)> {
        let mut targets = Vec::new();
        for (place, step) in group.steps.iter().enumerate() {
            let Step::Rename(to) = step else { continue };
            let directory = target(&self.filesets[index].directory, to);
            let found = self.filesets.iter().position(|fileset| fileset.directory == directory);
            targets.push((found, share_left(&group.steps[place + 1..], 1.0)));
        }
        targets
    }

    /// Files that lie in a directory of no fileset from now on.
    fn moved(&mut self, fileset: &Fileset, files: u64, owners: u64) {
        let sum = &mut self.elsewhere;
        sum.0 = sum.0.saturating_add(files.saturating_mul(owners));
        sum.1 = sum.1.saturating_add(mean_bytes(fileset, files).saturating_mul(owners));
        sum.2 = sum.2.saturating_add(most_bytes(fileset, files).saturating_mul(owners));
    }

    fn over_blocks(&mut self, group: &Group, index: usize, block: u64, length: Option<u64>) -> Outcome<Work> {
        let fileset = &self.filesets[index];
        blocks_fit(fileset, group, block)?;
        let owners = self.owners(group, index);
        let whole = end_to_end(fileset);
        let length = length.map_or(whole, |length| length.min(whole));
        let blocks = length.div_ceil(block);
        let items = match group.order {
            Order::Random if group.first < blocks => group.count.unwrap_or(blocks),
            Order::InOrder | Order::Shuffled if group.first.saturating_add(group.count.unwrap_or(1)) <= blocks => {
                group.count.unwrap_or(blocks - group.first)
            }
            _ => return Err(beyond(group, blocks, "blocks", &fileset.name)),
        };
        let state = &mut self.states[index];
        if group.io.create {
            state.directories = true;
            state.bytes = Some((group.first + items).saturating_mul(block).min(length));
            state.files = fileset.files;
        } else {
            let present = if state.files < fileset.files { 0 } else { state.bytes.unwrap_or(whole) };
            if present < length {
                return Err(Problem::new(format!(
                    "it needs {length} bytes of fileset `{}`, but only {present} exist then",
                    fileset.name
                ))
                .help(
                    "write them in an earlier phase, with `create = true` over `blocks` or \"create\" over `files`",
                ));
            }
        }
        let bytes = |share: f64| (items as f64 * block as f64 * share).min((items.saturating_mul(block)) as f64);
        let (read, write) = match group.io.read_percent {
            Some(percent) => (f64::from(percent) / 100.0, 1.0 - f64::from(percent) / 100.0),
            None => (times(&group.steps, &Step::Read), times(&group.steps, &Step::Write)),
        };
        Ok(Work {
            items: items.saturating_mul(owners),
            bytes_written: (bytes(write) as u64).saturating_mul(owners),
            bytes_read: (bytes(read) as u64).saturating_mul(owners),
        })
    }

    fn over_directories(&mut self, group: &Group, index: usize) -> Outcome<Work> {
        let fileset = &self.filesets[index];
        let owners = self.owners(group, index);
        let directories = fileset::directories(fileset);
        let state = &mut self.states[index];
        let makes = crate::steps::any(&group.steps, &Step::Mkdir);
        if !makes && !state.directories {
            return Err(no_directories(fileset));
        }
        if crate::steps::any(&group.steps, &Step::Rmdir) && state.files > 0 {
            return Err(Problem::new(format!(
                "it removes the directories of fileset `{}`, but {} files lie in them",
                fileset.name, state.files
            ))
            .help("unlink the files in a phase before"));
        }
        state.directories = !crate::steps::any(&group.steps, &Step::Rmdir);
        let items = group.count.unwrap_or(directories.saturating_sub(group.first));
        let within = group.first.saturating_add(items) <= directories || group.order == Order::Random;
        if !within || items == 0 {
            return Err(beyond(group, directories, "directories", &fileset.name));
        }
        // A listing counts the entries that it finds: the files, and the directories but the topmost.
        let listed = crate::steps::any(&group.steps, &Step::List);
        let found = if listed { state.files.saturating_add(directories - 1) } else { items };
        Ok(Work { items: found.saturating_mul(owners), ..Work::default() })
    }
}

fn over_device(group: &Group, block: u64, length: u64) -> Outcome<Work> {
    let blocks = length / block;
    if group.first >= blocks {
        return Err(Problem::new("it begins beyond the part of the device that it reads"));
    }
    let items = group.count.unwrap_or(blocks - group.first);
    if group.order != Order::Random && group.first.saturating_add(items) > blocks {
        return Err(Problem::new(format!("it reads {items} blocks of a part of the device that has {blocks}")));
    }
    Ok(Work { items, bytes_read: items.saturating_mul(block), ..Work::default() })
}

fn beyond(group: &Group, there: u64, what: &str, name: &str) -> Problem {
    let last = group.first.saturating_add(group.count.unwrap_or(1));
    Problem::new(format!(
        "it takes {what} {} to {} of fileset `{name}`, which has {there}",
        group.first,
        last.saturating_sub(1)
    ))
    .help("lower `count` or `first`")
}

fn no_directories(fileset: &Fileset) -> Problem {
    Problem::new(format!("the directories of fileset `{}` do not exist then", fileset.name))
        .help("put \"mkdir\" first, or create files in an earlier phase")
}

/// Blocks must not span two files, and direct ones must not end within a sector.
fn blocks_fit(fileset: &Fileset, group: &Group, block: u64) -> Outcome<()> {
    let (smallest, largest) = (fileset::smallest_bytes(fileset), fileset::largest_bytes(fileset));
    let whole = end_to_end(fileset);
    if smallest != largest || (fileset.files > 1 && !largest.is_multiple_of(block)) {
        return Err(Problem::new(format!(
            "blocks of {block} bytes do not divide the files of fileset `{}` evenly",
            fileset.name
        ))
        .help("use files of one size that is a multiple of the block, or work over `files`"));
    }
    if group.io.direct && !(whole.is_multiple_of(512) && largest.is_multiple_of(512)) {
        return Err(Problem::new(format!(
            "direct work on fileset `{}`, whose size is no multiple of 512",
            fileset.name
        )));
    }
    if group.io.create && group.workers > 1 && !fileset.per_worker {
        return Err(Problem::new(format!("{} workers would truncate each other's files", group.workers))
            .help("create with one worker, or use a fileset with `per-worker = true`"));
    }
    Ok(())
}

/// Whether the first step that concerns the file wants it to exist.
fn needs_file(steps: &[Step]) -> bool {
    for step in steps {
        match step {
            Step::Mkdir | Step::FsyncDirectory => {}
            Step::Share(_, inner) if needs_file(inner) => return true,
            Step::Share(..) => {}
            Step::Create => return false,
            _ => return true,
        }
    }
    false
}

fn creates(steps: &[Step]) -> bool {
    crate::steps::any(steps, &Step::Create)
}

/// Whether files are fewer, or elsewhere, after the steps.
pub(crate) fn leaves_less(steps: &[Step]) -> bool {
    share_left(steps, 1.0) < 1.0 || crate::steps::any(steps, &Step::Rmdir)
}

/// Share of the items that still stand in their fileset after the steps.
fn share_left(steps: &[Step], mut left: f64) -> f64 {
    for step in steps {
        left = match step {
            Step::Unlink | Step::Rename(_) => 0.0,
            Step::Create => 1.0,
            Step::Share(percent, inner) => {
                let share = f64::from(*percent) / 100.0;
                left * (1.0 - share) + share_left(inner, left) * share
            }
            _ => left,
        };
    }
    left
}

/// How often a step is done on each item, shares counted in part.
fn times(steps: &[Step], wanted: &Step) -> f64 {
    let each = |step: &Step| match step {
        Step::Share(percent, inner) => f64::from(*percent) / 100.0 * times(inner, wanted),
        step if step == wanted => 1.0,
        _ => 0.0,
    };
    steps.iter().map(each).sum()
}
