//! The bare loops of system calls that everything is held against: no statistics, one clock reading at each end.
//! In: a work, a path, counts. Out: operations a second, or bytes.
//! Written as plainly as the same loops in C would be.
#![allow(unsafe_code)]

use crate::table::Measured;
use std::ffi::CString;
use std::time::Instant;

/// Bytes of a small block.
pub const BLOCK: usize = 4096;

/// Bytes of a large block.
pub const LARGE: usize = 1 << 20;

/// Bytes of a small file.
pub const SMALL: usize = 1024;

/// Small files in one directory.
pub const PER_DIRECTORY: u64 = 200;

/// Time and CPU time from a moment on.
struct Stopwatch {
    start: Instant,
    cpu: f64,
}

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch { cpu: cpu_seconds(), start: Instant::now() }
    }

    fn rate(&self, count: f64) -> Measured {
        let seconds = self.start.elapsed().as_secs_f64();
        Measured { per_second: count / seconds, per_cpu_second: Some(count / (cpu_seconds() - self.cpu)) }
    }
}

/// CPU seconds of this process and of its children that have ended.
fn cpu_seconds() -> f64 {
    [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN]
        .iter()
        .map(|who| {
            // SAFETY: zero is a valid value of this plain structure, and the kernel fills it.
            let usage = unsafe {
                let mut usage: libc::rusage = std::mem::zeroed();
                libc::getrusage(*who, &mut usage);
                usage
            };
            let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
            seconds(usage.ru_utime) + seconds(usage.ru_stime)
        })
        .sum()
}

/// A page-aligned buffer, as posix_memalign would give it.
pub fn aligned(bytes: usize) -> &'static mut [u8] {
    // SAFETY: a fresh mapping that is never unmapped; the process ends soon.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED, "no memory");
        std::slice::from_raw_parts_mut(start.cast(), bytes)
    }
}

fn open(path: &str, flags: i32) -> i32 {
    let c = CString::new(path).expect("a path without NUL");
    // SAFETY: a C string that outlives the call.
    let fd = unsafe { libc::open(c.as_ptr(), flags, 0o600) };
    assert!(fd >= 0, "opening {path}: {}", std::io::Error::last_os_error());
    fd
}

/// Random 4 KiB reads of a file, a second.
pub fn random_read(path: &str, bytes: u64, count: u64) -> Measured {
    let (fd, buffer) = (open(path, libc::O_RDONLY), aligned(BLOCK));
    let blocks = bytes / BLOCK as u64;
    let mut x = 88_172_645_463_325_252u64;
    let watch = Stopwatch::start();
    for _ in 0..count {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        // SAFETY: the buffer is a block long.
        let n = unsafe { libc::pread64(fd, buffer.as_mut_ptr().cast(), BLOCK, ((x % blocks) * BLOCK as u64) as i64) };
        assert_eq!(n, BLOCK as isize);
    }
    watch.rate(count as f64)
}

/// Bytes a second of reading a file from beginning to end, in 1 MiB calls, so many times over.
pub fn sequential_read(path: &str, times: u64) -> Measured {
    let (fd, buffer) = (open(path, libc::O_RDONLY), aligned(LARGE));
    let mut total = 0u64;
    let watch = Stopwatch::start();
    for _ in 0..times {
        // SAFETY: takes numbers only.
        unsafe { libc::lseek64(fd, 0, libc::SEEK_SET) };
        loop {
            // SAFETY: the buffer is that long.
            let n = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), LARGE) };
            assert!(n >= 0);
            if n == 0 {
                break;
            }
            total += n as u64;
        }
    }
    watch.rate(total as f64)
}

/// Bytes a second of writing one constant buffer over a file that is there, in 1 MiB calls.
pub fn constant_write(path: &str, bytes: u64) -> Measured {
    let (fd, buffer) = (open(path, libc::O_WRONLY), aligned(LARGE));
    buffer.fill(0x5a);
    let watch = Stopwatch::start();
    for _ in 0..bytes / LARGE as u64 {
        // SAFETY: the buffer is that long.
        assert_eq!(unsafe { libc::write(fd, buffer.as_ptr().cast(), LARGE) }, LARGE as isize);
    }
    watch.rate(bytes as f64)
}

/// A path of a small file, made as snprintf would make it, in place.
struct Path {
    text: [u8; 32],
}

impl Path {
    #[inline]
    fn set(&mut self, worker: u64, index: u64) -> *const libc::c_char {
        let mut at = self.put(0, worker);
        self.text[at] = b'/';
        at = self.put(at + 1, index / PER_DIRECTORY);
        self.text[at] = b'/';
        at = self.put(at + 1, index);
        self.text[at] = 0;
        self.text.as_ptr().cast()
    }

    #[inline]
    fn put(&mut self, at: usize, number: u64) -> usize {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        let mut n = number;
        for place in (at..at + digits).rev() {
            self.text[place] = b'0' + (n % 10) as u8;
            n /= 10;
        }
        at + digits
    }
}

/// One kind of work on small files, by so many processes, each with files of its own; files a second, all together.
/// The working directory holds the directories.
pub fn small_files(work: &str, root: &str, files: u64, workers: u64) -> Measured {
    std::env::set_current_dir(root).expect("the root is a directory");
    if work == "create" {
        for worker in 0..workers {
            for directory in 0..files.div_ceil(PER_DIRECTORY) {
                std::fs::create_dir_all(format!("{worker}/{directory}")).expect("making a directory");
            }
        }
    }
    let watch = Stopwatch::start();
    // SAFETY: this process has one thread; children only make system calls and end.
    let children: Vec<i32> = (1..workers)
        .map(|worker| match unsafe { libc::fork() } {
            0 => {
                one(work, worker, files);
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(0) }
            }
            pid => pid,
        })
        .collect();
    one(work, 0, files);
    for child in children {
        let mut status = 0;
        // SAFETY: the kernel fills one integer.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    }
    watch.rate((files * workers) as f64)
}

fn one(work: &str, worker: u64, files: u64) {
    let buffer = aligned(BLOCK);
    buffer.fill(0x5a);
    let mut path = Path { text: [0; 32] };
    for index in 0..files {
        let name = path.set(worker, index);
        // SAFETY: `name` is a C string in `path`; buffers are as long as the calls say.
        let r = unsafe {
            match work {
                "create" => {
                    let fd = libc::open(name, libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY, 0o600);
                    assert_eq!(libc::write(fd, buffer.as_ptr().cast(), SMALL), SMALL as isize);
                    libc::close(fd)
                }
                "stat" => {
                    let mut status = std::mem::MaybeUninit::<libc::stat64>::uninit();
                    libc::stat64(name, status.as_mut_ptr())
                }
                "read" => {
                    let fd = libc::open(name, libc::O_RDONLY);
                    assert_eq!(libc::read(fd, buffer.as_mut_ptr().cast(), BLOCK), SMALL as isize);
                    libc::close(fd)
                }
                _ => libc::unlink(name),
            }
        };
        assert_eq!(r, 0, "{work} of file {index}: {}", std::io::Error::last_os_error());
    }
}

/// Random 4 KiB reads through io_uring with registered file and buffers, in batches, a second.
pub fn ring_read(path: &str, bytes: u64, count: u64, depth: u32, batch: u32) -> Measured {
    use io_uring::{IoUring, opcode, types};
    let (fd, buffer) = (open(path, libc::O_RDONLY), aligned(BLOCK * depth as usize));
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(depth)
        .or_else(|_| IoUring::new(depth))
        .expect("a ring");
    let base = buffer.as_mut_ptr();
    let vectors: Vec<libc::iovec> = (0..depth as usize)
        // SAFETY: within the buffer.
        .map(|i| libc::iovec { iov_base: unsafe { base.add(i * BLOCK) }.cast(), iov_len: BLOCK })
        .collect();
    // SAFETY: the buffers are never unmapped.
    unsafe { ring.submitter().register_buffers(&vectors) }.expect("registered buffers");
    ring.submitter().register_files(&[fd]).expect("a registered file");
    let blocks = bytes / BLOCK as u64;
    let mut x = 88_172_645_463_325_252u64;
    let mut free: Vec<u32> = (0..depth).collect();
    let (mut pushed, mut done) = (0, 0);
    let watch = Stopwatch::start();
    while done < count {
        for _ in 0..batch {
            let Some(slot) = (pushed < count).then(|| free.pop()).flatten() else { break };
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            // SAFETY: within the buffer; the slot is free.
            let to = unsafe { base.add(slot as usize * BLOCK) };
            let entry = opcode::ReadFixed::new(types::Fixed(0), to, BLOCK as u32, slot as u16)
                .offset((x % blocks) * BLOCK as u64)
                .build()
                .user_data(u64::from(slot));
            // SAFETY: the queue holds `depth` entries, and no more slots are ever in use.
            unsafe { ring.submission().push(&entry) }.expect("room in the queue");
            pushed += 1;
        }
        ring.submit_and_wait(1).expect("io_uring_enter");
        for completion in ring.completion() {
            assert_eq!(completion.result(), BLOCK as i32);
            free.push(completion.user_data() as u32);
            done += 1;
        }
    }
    watch.rate(count as f64)
}
