//! Calls on files: which file, folder or name of the recorded folder they concern, and how they use it.
//! In: a recorded call. Out: the trace's call with its uses, and the updated names; nothing for paths outside of the folder.

use crate::actions::{Builder, Meaning};
use crate::events::Seen;
use crate::names::{Found, Node};
use crate::numbers as c;
use crate::order::{Resource, Use};
use crate::processes::{Handle, Open, Place};
use crate::trace::{Call, UNSEEN_RINGS};
use std::rc::Rc;

const HERE: i64 = c::AT_FDCWD as i64;

/// Directory descriptors are 32 bits, but are recorded as full registers.
fn directory(argument: i64) -> i64 {
    i64::from(argument as i32)
}

fn has(flags: i64, flag: i32) -> bool {
    flags & i64::from(flag) != 0
}

/// Resources that a path lookup uses; the last name is used as given.
fn uses(found: &Found, last: Use) -> Vec<(Resource, Use)> {
    let before = found.passed.len().saturating_sub(1);
    let name = |(at, (folder, name)): (usize, &(Node, String))| {
        (Resource::Name(*folder, name.clone()), if at == before { last } else { Use::Reads })
    };
    found.passed.iter().enumerate().map(name).collect()
}

/// Resources that creating, moving or removing a name uses.
fn changes(found: &Found) -> Vec<(Resource, Use)> {
    let mut all = uses(found, Use::Changes);
    all.extend(found.passed.last().map(|(folder, _)| (Resource::Listing(*folder), Use::Adds)));
    all
}

impl Builder {
    /// The absolute form of a path.
    pub fn whole_path(&mut self, thread: i32, at: i64, path: &str) -> String {
        if path.starts_with('/') {
            return path.to_owned();
        }
        let base = match self.open(thread, at) {
            _ if at == HERE => match &*self.of(thread).place.clone().borrow() {
                Place::Inside(node) => format!("{}/{}", self.roots[0], self.names.path(*node)),
                Place::Outside(path) => path.clone(),
            },
            Some(Open::Inside(handle)) => format!("{}/{}", self.roots[0], self.names.path(handle.node)),
            Some(Open::Folder(path)) => path,
            _ => "/".to_owned(),
        };
        format!("{base}/{path}")
    }

    /// A path relative to the recorded folder; None if it leads elsewhere.
    pub fn path_at(&mut self, thread: i32, at: i64, path: &str) -> Option<String> {
        let whole = self.whole_path(thread, at, path);
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        let clean = format!("/{}", parts.join("/"));
        let inner = self.roots.iter().find_map(|root| clean.strip_prefix(root.as_str()));
        let inner = inner.filter(|rest| rest.is_empty() || rest.starts_with('/'))?.trim_start_matches('/');
        Some(if inner.is_empty() { ".".into() } else { inner.into() })
    }

    fn handle(&mut self, seen: &Seen, descriptor: i64) -> Option<Rc<Handle>> {
        match self.open(seen.thread, descriptor)? {
            Open::Inside(handle) => Some(handle),
            _ => None,
        }
    }

    /// The meaning of a call on files.
    pub fn of_files(&mut self, seen: &Seen) -> Option<Meaning> {
        if let c::SYS_open | c::SYS_creat | c::SYS_openat = seen.call {
            return self.of_open(seen);
        }
        let done = match seen.call {
            c::SYS_io_uring_setup | c::SYS_io_submit => {
                *self.unseen.entry(UNSEEN_RINGS).or_default() += 1;
                None
            }
            _ if seen.texts.is_empty() => self.of_handle(seen),
            _ if seen.texts[0].is_empty() => self.of_empty_path(seen),
            _ => self.of_path(seen).or_else(|| self.of_names(seen)),
        };
        done.map(|(call, uses)| Meaning::Do(call, uses))
    }

    fn of_open(&mut self, seen: &Seen) -> Option<Meaning> {
        let [first, second, third, fourth, ..] = seen.arguments;
        let (at, flags, mode) = match seen.call {
            c::SYS_openat => (directory(first), third, fourth),
            c::SYS_creat => (HERE, i64::from(c::O_CREAT | c::O_WRONLY | c::O_TRUNC), second),
            _ => (HERE, second, third),
        };
        let text = seen.texts.first()?;
        let close_on_exec = has(flags, c::O_CLOEXEC);
        let Some(path) = self.path_at(seen.thread, at, text) else {
            let folder =
                has(flags, c::O_DIRECTORY | c::O_PATH).then(|| Open::Folder(self.whole_path(seen.thread, at, text)));
            if seen.result >= 0 {
                self.set(seen, seen.result, folder, close_on_exec);
            }
            return None;
        };
        let follow = !has(flags, c::O_NOFOLLOW)
            && flags & i64::from(c::O_CREAT | c::O_EXCL) != i64::from(c::O_CREAT | c::O_EXCL);
        let found = self.names.find(&path, follow);
        let mut used = uses(&found, Use::Reads);
        let number = self.handles;
        self.handles += 1;
        used.push((Resource::Handle(number), Use::Changes));
        if seen.result >= 0 {
            let unnamed = flags & i64::from(c::O_TMPFILE) == i64::from(c::O_TMPFILE);
            let node = match found.node {
                Some(node) if !unnamed => node,
                _ if unnamed => self.names.make_file(&Found::default()),
                _ => {
                    used.extend(changes(&found));
                    self.names.make_file(&found)
                }
            };
            if has(flags, c::O_TRUNC) {
                used.push((Resource::Data(node), Use::Changes));
            }
            self.set(seen, seen.result, Some(Open::Inside(Rc::new(Handle { number, node }))), close_on_exec);
        }
        let call = Call::Open {
            path,
            flags: (flags as i32 & !c::O_CLOEXEC) as u32,
            mode: mode as u32 & 0o7777,
            handle: number,
        };
        Some(Meaning::Do(call, used))
    }

    /// Calls on an open file.
    fn of_handle(&mut self, seen: &Seen) -> Option<(Call, Vec<(Resource, Use)>)> {
        let [first, second, third, fourth, ..] = seen.arguments;
        let moved = seen.result.max(0) as u64;
        if let c::SYS_mmap | c::SYS_copy_file_range | c::SYS_sendfile | c::SYS_ioctl = seen.call {
            return self.of_two(seen);
        }
        let of = self.handle(seen, first)?;
        let (handle, data) = (of.number, Resource::Data(of.node));
        let here = |kind| (Resource::Handle(handle), kind);
        let asked = second.max(0) as u64;
        // For buffer lists, only the number of bytes moved is known.
        let length = if third > 0 { (third as u64).min(1 << 30) } else { moved };
        let offset = fourth.max(0) as u64;
        let reads = |kind| vec![here(kind), (data.clone(), Use::Reads)];
        let writes = |kind| vec![here(kind), (data.clone(), Use::Changes)];
        Some(match seen.call {
            c::SYS_read => (Call::Read { handle, length }, reads(Use::Changes)),
            c::SYS_readv => (Call::Read { handle, length: moved }, reads(Use::Changes)),
            c::SYS_pread64 => (Call::ReadAt { handle, offset, length }, reads(Use::Reads)),
            c::SYS_preadv | c::SYS_preadv2 => (Call::ReadAt { handle, offset, length: moved }, reads(Use::Reads)),
            c::SYS_write => (Call::Write { handle, length }, writes(Use::Changes)),
            c::SYS_writev => (Call::Write { handle, length: moved }, writes(Use::Changes)),
            c::SYS_pwrite64 => (Call::WriteAt { handle, offset, length }, writes(Use::Reads)),
            c::SYS_pwritev | c::SYS_pwritev2 => (Call::WriteAt { handle, offset, length: moved }, writes(Use::Reads)),
            c::SYS_lseek => (Call::Seek { handle, offset: second, whence: third as u32 }, vec![here(Use::Changes)]),
            c::SYS_getdents64 => {
                (Call::List { handle, length }, vec![here(Use::Changes), (Resource::Listing(of.node), Use::Reads)])
            }
            c::SYS_fsync => (Call::Fsync { handle }, reads(Use::Reads)),
            c::SYS_fdatasync => (Call::Fdatasync { handle }, reads(Use::Reads)),
            c::SYS_syncfs => (Call::Syncfs { handle }, vec![here(Use::Reads)]),
            c::SYS_sync_file_range => {
                let length = third.max(0) as u64;
                (Call::SyncRange { handle, offset: asked, length, flags: fourth as u32 }, reads(Use::Reads))
            }
            c::SYS_ftruncate => (Call::Truncate { handle, size: asked }, writes(Use::Reads)),
            c::SYS_fallocate => {
                let (offset, length) = (third.max(0) as u64, fourth.max(0) as u64);
                (Call::Allocate { handle, mode: second as u32, offset, length }, writes(Use::Reads))
            }
            c::SYS_fadvise64 => {
                let length = third.max(0) as u64;
                (Call::Advise { handle, offset: asked, length, advice: fourth as u32 }, vec![here(Use::Reads)])
            }
            c::SYS_fstat => (Call::StatHandle { handle }, vec![here(Use::Reads)]),
            c::SYS_fchmod => (Call::ModeHandle { handle, mode: second as u32 & 0o7777 }, vec![here(Use::Reads)]),
            c::SYS_fchown => (Call::OwnerHandle { handle }, vec![here(Use::Reads)]),
            c::SYS_utimensat => (Call::TimesHandle { handle }, vec![here(Use::Reads)]),
            c::SYS_fgetxattr | c::SYS_flistxattr => {
                (Call::AttributesHandle { handle, list: seen.call == c::SYS_flistxattr }, vec![here(Use::Reads)])
            }
            _ => return None,
        })
    }

    /// Calls with descriptors in other arguments, or with two.
    fn of_two(&mut self, seen: &Seen) -> Option<(Call, Vec<(Resource, Use)>)> {
        let [first, second, third, fourth, fifth, sixth] = seen.arguments;
        let clones = second as u64 & 0xffff_ffff == c::FICLONE & 0xffff_ffff;
        let (from, to, length) = match seen.call {
            c::SYS_mmap => return self.of_map(seen, fourth, fifth, (sixth, second), third),
            c::SYS_copy_file_range => (first, third, fifth),
            c::SYS_sendfile => (second, first, fourth),
            _ if clones => (third, first, 0),
            _ => return None,
        };
        let (from, to) = (self.handle(seen, from)?, self.handle(seen, to)?);
        // An offset in memory is not recorded; the file position is used instead, since copies go from start to end.
        let length = length.clamp(0, 1 << 30) as u64;
        let call = match seen.call {
            c::SYS_copy_file_range => Call::CopyRange { from: from.number, to: to.number, length },
            c::SYS_sendfile => Call::SendFile { from: from.number, to: to.number, length },
            _ => Call::Clone { from: from.number, to: to.number },
        };
        let used = vec![
            (Resource::Handle(from.number), Use::Changes),
            (Resource::Handle(to.number), Use::Changes),
            (Resource::Data(from.node), Use::Reads),
            (Resource::Data(to.node), Use::Changes),
        ];
        Some((call, used))
    }

    fn of_map(
        &mut self,
        seen: &Seen,
        flags: i64,
        descriptor: i64,
        (offset, length): (i64, i64),
        access: i64,
    ) -> Option<(Call, Vec<(Resource, Use)>)> {
        if has(flags, c::MAP_ANONYMOUS) || seen.result < 0 && seen.result > -4096 {
            return None;
        }
        let handle = self.handle(seen, i64::from(descriptor as i32))?;
        if has(flags, c::MAP_SHARED) && has(access, c::PROT_WRITE) {
            *self.unseen.entry("writes through shared mappings").or_default() += 1;
        }
        let call = Call::Map { handle: handle.number, offset: offset.max(0) as u64, length: length.max(0) as u64 };
        Some((call, vec![(Resource::Handle(handle.number), Use::Reads), (Resource::Data(handle.node), Use::Reads)]))
    }

    /// Calls that name an open file by a descriptor and an empty path.
    fn of_empty_path(&mut self, seen: &Seen) -> Option<(Call, Vec<(Resource, Use)>)> {
        let handle = self.handle(seen, directory(seen.arguments[0]))?.number;
        let call = match seen.call {
            c::SYS_newfstatat | c::SYS_statx => Call::StatHandle { handle },
            c::SYS_fchownat => Call::OwnerHandle { handle },
            c::SYS_utimensat => Call::TimesHandle { handle },
            _ => return None,
        };
        Some((call, vec![(Resource::Handle(handle), Use::Reads)]))
    }

    /// Calls that inspect or change the target of a path, but no name.
    fn of_path(&mut self, seen: &Seen) -> Option<(Call, Vec<(Resource, Use)>)> {
        let [first, second, third, fourth, ..] = seen.arguments;
        let text = &seen.texts[0];
        let no_follow = |flags: i64| !has(flags, c::AT_SYMLINK_NOFOLLOW);
        let (at, follow) = match seen.call {
            c::SYS_newfstatat | c::SYS_utimensat => (directory(first), no_follow(fourth)),
            c::SYS_statx => (directory(first), no_follow(third)),
            c::SYS_fchownat => (directory(first), no_follow(seen.arguments[4])),
            c::SYS_faccessat | c::SYS_faccessat2 | c::SYS_fchmodat | c::SYS_futimesat => (directory(first), true),
            c::SYS_readlinkat => (directory(first), false),
            c::SYS_lstat | c::SYS_readlink | c::SYS_lchown | c::SYS_lgetxattr | c::SYS_llistxattr => (HERE, false),
            c::SYS_stat
            | c::SYS_access
            | c::SYS_truncate
            | c::SYS_chmod
            | c::SYS_chown
            | c::SYS_utime
            | c::SYS_utimes => (HERE, true),
            c::SYS_getxattr | c::SYS_listxattr => (HERE, true),
            _ => return None,
        };
        let path = self.path_at(seen.thread, at, text)?;
        let found = self.names.find(&path, follow);
        let mut used = uses(&found, Use::Reads);
        let call = match seen.call {
            c::SYS_newfstatat | c::SYS_statx | c::SYS_stat | c::SYS_lstat => Call::Stat { path, follow },
            c::SYS_access | c::SYS_faccessat | c::SYS_faccessat2 => Call::Access { path },
            c::SYS_readlink | c::SYS_readlinkat => Call::ReadLink { path },
            c::SYS_truncate => {
                used.extend(found.node.map(|node| (Resource::Data(node), Use::Changes)));
                Call::TruncatePath { path, size: second.max(0) as u64 }
            }
            c::SYS_chmod => Call::Mode { path, mode: second as u32 & 0o7777 },
            c::SYS_fchmodat => Call::Mode { path, mode: third as u32 & 0o7777 },
            c::SYS_chown | c::SYS_lchown | c::SYS_fchownat => Call::Owner { path, follow },
            c::SYS_utime | c::SYS_utimes | c::SYS_utimensat | c::SYS_futimesat => Call::Times { path, follow },
            c::SYS_listxattr | c::SYS_llistxattr => Call::Attributes { path, follow, list: true },
            _ => Call::Attributes { path, follow, list: false },
        };
        Some((call, used))
    }

    /// Calls that create, move and remove names.
    fn of_names(&mut self, seen: &Seen) -> Option<(Call, Vec<(Resource, Use)>)> {
        let [first, second, third, _, fifth, _] = seen.arguments;
        let done = seen.result == 0;
        let text = seen.texts[0].clone();
        let (at, removes_folder) = match seen.call {
            c::SYS_unlinkat => (directory(first), has(third, c::AT_REMOVEDIR)),
            c::SYS_mkdirat => (directory(first), false),
            c::SYS_rmdir => (HERE, true),
            c::SYS_unlink | c::SYS_mkdir => (HERE, false),
            c::SYS_rename | c::SYS_renameat | c::SYS_renameat2 | c::SYS_link | c::SYS_linkat => {
                let at = if matches!(seen.call, c::SYS_rename | c::SYS_link) {
                    (HERE, HERE)
                } else {
                    (directory(first), directory(third))
                };
                let flags = if seen.call == c::SYS_renameat2 { fifth as u32 } else { 0 };
                return self.of_two_names(seen, at, flags);
            }
            c::SYS_symlink | c::SYS_symlinkat => {
                let at = if seen.call == c::SYS_symlink { HERE } else { directory(second) };
                let path = self.path_at(seen.thread, at, seen.texts.get(1)?)?;
                let found = self.names.find(&path, false);
                if done {
                    self.names.make_symlink(&found, &text);
                }
                return Some((Call::Symlink { text, path }, changes(&found)));
            }
            _ => return None,
        };
        let path = self.path_at(seen.thread, at, &text)?;
        let found = self.names.find(&path, false);
        let call = match seen.call {
            c::SYS_mkdir | c::SYS_mkdirat => {
                if done {
                    self.names.make_folder(&found);
                }
                let mode = if seen.call == c::SYS_mkdir { second } else { third };
                Call::MakeFolder { path, mode: mode as u32 & 0o7777 }
            }
            _ => {
                if done {
                    self.names.remove(&found);
                }
                if removes_folder { Call::RemoveFolder { path } } else { Call::Unlink { path } }
            }
        };
        let mut used = changes(&found);
        if let (true, Some(node)) = (removes_folder, found.node) {
            used.push((Resource::Listing(node), Use::Changes));
        }
        Some((call, used))
    }

    fn of_two_names(&mut self, seen: &Seen, at: (i64, i64), flags: u32) -> Option<(Call, Vec<(Resource, Use)>)> {
        let from = self.path_at(seen.thread, at.0, &seen.texts[0])?;
        let to = self.path_at(seen.thread, at.1, seen.texts.get(1)?)?;
        let (old, new) = (self.names.find(&from, false), self.names.find(&to, false));
        let mut used = changes(&old);
        used.extend(changes(&new));
        let links = matches!(seen.call, c::SYS_link | c::SYS_linkat);
        if let (0, Some(node)) = (seen.result, old.node) {
            if !links {
                self.names.remove(&old);
            }
            self.names.name(&new, node);
        }
        Some((if links { Call::Link { from, to } } else { Call::Rename { from, to, flags } }, used))
    }
}
