//! Steps: the operations on each item of a group.
//! In: made by `workload` from a workload file. Out: part of a [`super::Program`], carried out by the engine.

use super::{Command, OwnFigure, Replay, VolumeTool};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// One operation on an item. On files unless stated otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Step {
    /// Make the missing directories that lead to the file; over directories, make the directories themselves.
    Mkdir,
    /// open(O_CREAT|O_TRUNC|O_WRONLY), 0600 unless chmod follows.
    Create,
    /// open(O_RDONLY).
    Open,
    /// open(O_WRONLY|O_TRUNC) of an existing file; the size is drawn anew.
    OpenTruncate,
    /// open(O_RDWR).
    OpenReadWrite,
    /// Read the whole file, or the block.
    Read,
    /// Write the whole file, or the block.
    Write,
    /// Change one byte of the block that was read (no system call).
    Modify,
    /// Close the file.
    Close,
    /// fsync(2).
    Fsync,
    /// fdatasync(2).
    Fdatasync,
    /// fsync(2) of the file's directory.
    FsyncDirectory,
    /// chown(2) to the caller's own user and group.
    Chown,
    /// chmod(2) to 0644.
    Chmod,
    /// stat(2), which fails if the file is missing.
    Stat,
    /// access(2): look the name up.
    LookUp,
    /// Rename within the fileset's parent into this directory, under the same name: with a fileset in `mail/tmp`, `Rename("new")` moves
    /// `mail/tmp/NAME` to `mail/new/NAME`, and later steps find the file there. A fileset in `t` has the root as its parent. A missing
    /// directory is made before the phase's clock starts. A phase that takes files from there needs its own fileset in `mail/new`, with the
    /// same names.
    Rename(String),
    /// Hard link next to the file, with this suffix.
    Link(String),
    /// unlink(2).
    Unlink,
    /// List the directory to its end (over directories); each entry counts as an item.
    List,
    /// rmdir(2) (over directories).
    Rmdir,
    /// Run a program to its end (over commands, whose only step it is).
    Run(Box<Command>),
    /// open(O_TMPFILE|O_WRONLY) in the file's directory: a file without a name.
    OpenTmpfile,
    /// Link the open unnamed file under its own name (linkat of /proc/self/fd).
    LinkTmpfile,
    /// Clone the file (FICLONE) to the same name in this directory, located as for [`Step::Rename`]; the file stays. A phase over the clones
    /// needs its own fileset there, which `copies` this one.
    Reflink(String),
    /// Copy the file within the kernel (copy_file_range(2)), to where [`Step::Reflink`] would clone it.
    CopyRange(String),
    /// fallocate(2) of the whole size of the open file, or of the block.
    Fallocate,
    /// fallocate(FALLOC_FL_PUNCH_HOLE) of the whole size of the open file, or of the block.
    PunchHole,
    /// truncate(2) to this share of its size, in percent.
    Truncate(u8),
    /// setxattr(2) of `user.bakeoff`, with this many bytes.
    SetXattr(u32),
    /// getxattr(2) of the same.
    GetXattr,
    /// setxattr(2) of an access control list with one more user.
    SetAcl,
    /// getxattr(2) of the same.
    GetAcl,
    /// posix_fadvise(POSIX_FADV_WILLNEED) of the whole open file.
    Readahead,
    /// posix_fadvise(POSIX_FADV_DONTNEED) of the whole open file.
    DropCached,
    /// Write files of the fileset, from the first missing one, until the filesystem reaches this use in percent, as df(1) reports it, or has
    /// no space (over space).
    Fill(u8),
    /// Wait until the use is at most this, in percent; two minutes at most (over space).
    AwaitSpace(u8),
    /// Run this action of the filesystem's own tool (over the volume, whose only step it is), and report these figures of it.
    Volume(VolumeTool, Vec<OwnFigure>),
    /// Make the file tree that a recorded program found (over a trace, whose only step it is).
    LayOut(Box<Replay>),
    /// Make the calls that a recorded program made (over a trace, whose only step it is).
    Replay(Box<Replay>),
    /// Carry out these steps on a share of the items, in percent, chosen by the seed.
    Share(u8, Vec<Step>),
}

impl Step {
    /// Name in the workload language, in errors and in histograms.
    pub fn name(&self) -> &'static str {
        match self {
            Step::Volume(tool, _) => tool.name(),
            step => step.into(),
        }
    }
}

/// Whether any of the steps, also inside shares, is one of those wanted.
pub fn any(steps: &[Step], wanted: &dyn Fn(&Step) -> bool) -> bool {
    steps.iter().any(|step| match step {
        Step::Share(_, inner) => any(inner, wanted),
        step => wanted(step),
    })
}

/// Whether a step is among the steps, also inside shares.
pub fn has(steps: &[Step], wanted: &Step) -> bool {
    any(steps, &|step| step == wanted)
}
