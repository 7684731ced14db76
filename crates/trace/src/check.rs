//! Checks of an untrusted trace before it is replayed.
//! In: a trace as read. Out: nothing, or the problem, in a sentence.

use crate::trace::{ACTIONS_LIMIT, Call, ENTRIES_LIMIT, EntryKind, Header, THREADS_LIMIT, Trace};

/// Longest path in bytes, as in the kernel.
const PATH_LIMIT: usize = 4096;
/// Most bytes that one call moves, as in the kernel.
const LENGTH_LIMIT: u64 = 0x7fff_f000;
/// Largest offset and size.
const OFFSET_LIMIT: u64 = 1 << 60;

impl Trace {
    /// Whether a replay may rely on it.
    ///
    /// # Errors
    /// The problem, in a sentence that names the entry or action.
    pub fn check(&self) -> Result<(), String> {
        let Header { threads, handles, .. } = self.header;
        if threads == 0
            || threads > THREADS_LIMIT
            || self.actions.len() > ACTIONS_LIMIT
            || self.tree.len() > ENTRIES_LIMIT
        {
            return Err("it has no threads, or more threads, actions or entries than a trace may have".into());
        }
        if handles as usize > self.actions.len() || threads as usize > self.actions.len() + 1 {
            return Err("it has more open files or threads than actions".into());
        }
        for (number, entry) in self.tree.iter().enumerate() {
            let shown: String = entry.path.chars().take(200).collect();
            let wrong = |what: &str| format!("entry {number} of the tree, {shown:?}, {what}");
            path(&entry.path).map_err(wrong)?;
            match &entry.kind {
                EntryKind::File(size) if *size > OFFSET_LIMIT => return Err(wrong("is too large")),
                EntryKind::Link(of) => path(of).map_err(wrong)?,
                EntryKind::Symlink(to) if to.is_empty() || to.len() > PATH_LIMIT || to.contains('\0') => {
                    return Err(wrong("is a link without a target"));
                }
                _ => {}
            }
        }
        let mut begun = vec![false; threads as usize];
        begun[0] = true;
        for (number, action) in self.actions.iter().enumerate() {
            let wrong = |what: &str| format!("action {number} {what}");
            if !begun.get(action.thread as usize).is_some_and(|begun| *begun) {
                return Err(wrong("belongs to a thread that has not started"));
            }
            if action.after.iter().any(|other| *other as usize >= number) {
                return Err(wrong("depends on an action that does not come before it"));
            }
            if let Call::Start { thread } = action.call {
                match begun.get_mut(thread as usize) {
                    Some(begun) if !*begun => *begun = true,
                    _ => return Err(wrong("starts a thread that is already running or does not exist")),
                }
            }
            action.call.check(handles).map_err(wrong)?;
        }
        Ok(())
    }
}

/// Whether a path stays below the folder.
fn path(path: &str) -> Result<(), &'static str> {
    if path.is_empty() || path.len() > PATH_LIMIT || path.contains('\0') {
        return Err("has no path, or one that is too long");
    }
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Err("leads out of the folder");
    }
    Ok(())
}

impl Call {
    /// The paths in it.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (one, other) = match self {
            Call::Open { path, .. }
            | Call::TruncatePath { path, .. }
            | Call::Stat { path, .. }
            | Call::Access { path }
            | Call::ReadLink { path }
            | Call::Unlink { path }
            | Call::RemoveFolder { path }
            | Call::MakeFolder { path, .. }
            | Call::Symlink { path, .. }
            | Call::Mode { path, .. }
            | Call::Owner { path, .. }
            | Call::Times { path, .. }
            | Call::Attributes { path, .. } => (Some(path), None),
            Call::Rename { from, to, .. } | Call::Link { from, to } => (Some(from), Some(to)),
            _ => (None, None),
        };
        one.into_iter().chain(other).map(String::as_str)
    }

    /// The open file descriptions in it.
    pub fn handles(&self) -> impl Iterator<Item = u32> {
        let (one, other) = match *self {
            Call::Open { handle, .. }
            | Call::Close { handle }
            | Call::Read { handle, .. }
            | Call::ReadAt { handle, .. }
            | Call::Write { handle, .. }
            | Call::WriteAt { handle, .. }
            | Call::Seek { handle, .. }
            | Call::List { handle, .. }
            | Call::Map { handle, .. }
            | Call::Fsync { handle }
            | Call::Fdatasync { handle }
            | Call::Syncfs { handle }
            | Call::SyncRange { handle, .. }
            | Call::Truncate { handle, .. }
            | Call::Allocate { handle, .. }
            | Call::Advise { handle, .. }
            | Call::StatHandle { handle }
            | Call::ModeHandle { handle, .. }
            | Call::OwnerHandle { handle }
            | Call::TimesHandle { handle }
            | Call::AttributesHandle { handle, .. } => (Some(handle), None),
            Call::CopyRange { from, to, .. } | Call::SendFile { from, to, .. } | Call::Clone { from, to } => {
                (Some(from), Some(to))
            }
            _ => (None, None),
        };
        one.into_iter().chain(other)
    }

    /// The largest numbers that it passes to the kernel: an offset or a size, and a length.
    fn reach(&self) -> (u64, u64) {
        match *self {
            Call::Read { length, .. } | Call::Write { length, .. } | Call::List { length, .. } => (0, length),
            Call::ReadAt { offset, length, .. } | Call::WriteAt { offset, length, .. } => (offset, length),
            Call::CopyRange { length, .. } | Call::SendFile { length, .. } => (0, length),
            Call::Map { offset, length, .. } | Call::Allocate { offset, length, .. } => (offset.max(length), 0),
            Call::Truncate { size, .. } | Call::TruncatePath { size, .. } => (size, 0),
            _ => (0, 0),
        }
    }

    fn check(&self, handles: u32) -> Result<(), &'static str> {
        self.paths().try_for_each(path)?;
        if self.handles().any(|handle| handle >= handles) {
            return Err("uses a file that was never opened");
        }
        let (offset, length) = self.reach();
        if offset > OFFSET_LIMIT || length > LENGTH_LIMIT {
            return Err("goes beyond the maximum size of a file");
        }
        match self {
            Call::Symlink { text, .. } if text.is_empty() || text.len() > PATH_LIMIT || text.contains('\0') => {
                Err("creates a link without a target")
            }
            _ => Ok(()),
        }
    }
}
