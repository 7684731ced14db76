//! The watcher if eBPF is not available: strace, which stops a thread at each watched call (`--seccomp-bpf`), and at no other.
//! In: the lines that it wrote for one thread. Out: the same events as from eBPF.

use crate::events::{Event, OffCpu, Seen};
use crate::syscalls::{self, Points};

/// strace's arguments before the command.
pub fn arguments(output: &str) -> Vec<String> {
    let names: Vec<&str> = syscalls::all().map(|call| call.name).collect();
    let verbose = ["pipe", "pipe2", "socketpair", "bind", "connect", "clone", "clone3", "readv", "writev"];
    let words = [
        "--follow-forks",
        "--output-separately",
        "--seccomp-bpf",
        // Arrays are shortened like strings, and a pipe has two ends.
        "--string-limit=2",
        "-X",
        "raw",
        "-e",
        "signal=none",
        "--absolute-timestamps=format:unix,precision:ns",
        "--syscall-times=ns",
        "--quiet=attach,personality",
    ];
    let mut all: Vec<String> = words.map(str::to_owned).into();
    all.push(format!("--verbose={}", verbose.join(",")));
    // With a question mark, since older versions and other architectures do not know all of them.
    all.push(format!("--trace=?{}", names.join(",?")));
    all.extend(["--output".to_owned(), output.to_owned(), "--".to_owned()]);
    all
}

/// The events of one thread.
pub fn events(thread: i32, text: &str) -> Vec<Event> {
    let mut events = Vec::new();
    // The start of the call that has not returned, if there is one.
    let mut within = None;
    for line in text.lines() {
        let Some((at, rest)) = line.split_once(' ').and_then(|(at, rest)| Some((nanoseconds(at)?, rest))) else {
            continue;
        };
        if rest.starts_with("+++") {
            // A call interrupted by the thread's end was a wait, as long as it lasted.
            let asleep = within.map_or(0, |since| at.saturating_sub(since));
            events.push(Event::End { at, thread, off: OffCpu { asleep, ..OffCpu::default() }, unwatched: 0 });
        } else if never_returned(rest) {
            within = Some(at);
        } else if let Some(seen) = call(thread, at, rest) {
            let clones = matches!(seen.call, libc::SYS_clone | libc::SYS_clone3) || is_fork(seen.call);
            if clones && seen.result > 0 {
                let flags = seen.numbers.first().copied().unwrap_or(0) as u64;
                events.push(Event::Birth { at: seen.start, parent: thread, child: seen.result as i32, flags });
            }
            events.push(Event::Call(Box::new(seen)));
        }
    }
    events
}

/// Whether the thread's end interrupted this call.
fn never_returned(line: &str) -> bool {
    line.trim_end().ends_with("= ?")
}

#[cfg(target_arch = "x86_64")]
fn is_fork(call: i64) -> bool {
    matches!(call, libc::SYS_fork | libc::SYS_vfork)
}
#[cfg(not(target_arch = "x86_64"))]
fn is_fork(_: i64) -> bool {
    false
}

fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, parts) = text.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let parts: u64 = format!("{parts:0<9}").get(..9)?.parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(parts)
}

fn call(thread: i32, start: u64, text: &str) -> Option<Seen> {
    let (name, rest) = text.split_once('(')?;
    let watched = syscalls::all().find(|call| call.name == name)?;
    let (words, rest) = split(rest)?;
    let (result, took) = answer(rest)?;
    let mut seen = Seen { thread, start, end: start + took, call: watched.number, result, ..Seen::default() };
    let plain = |word: &String| !word.contains('=') || word.starts_with('"') || word.starts_with('{');
    for (at, word) in words.iter().filter(|word| plain(word)).take(6).enumerate() {
        seen.arguments[at] = number(word).unwrap_or(0);
    }
    let text = |at: usize| words.get(at).and_then(|word| unquoted(word));
    match watched.points {
        Points::No => {}
        Points::Text(at) => seen.texts.extend(text(at)),
        Points::Texts(one, other) => seen.texts = vec![text(one)?, text(other)?],
        Points::Pair(at) => seen.numbers = numbers(words.get(at)?),
        Points::Address => (seen.numbers, seen.texts) = address(words.get(1)?),
    }
    if matches!(seen.call, libc::SYS_clone | libc::SYS_clone3) {
        let flags = words.iter().find_map(|word| word.split("flags=").nth(1));
        seen.numbers =
            flags.map(|flags| flags.split([',', '}', '|']).next().and_then(number).unwrap_or(0)).into_iter().collect();
    }
    Some(seen)
}

/// Splits the arguments at the commas between them; also returns what follows.
fn split(text: &str) -> Option<(Vec<String>, &str)> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                if !word.trim().is_empty() {
                    words.push(word.trim().to_owned());
                }
                return Some((words, &text[at + 1..]));
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                words.push(std::mem::take(&mut word).trim().to_owned());
                continue;
            }
            _ => {}
        }
        word.push(letter);
    }
    None
}

/// Result and duration of a call; None if it did not return.
fn answer(text: &str) -> Option<(i64, u64)> {
    let (_, rest) = text.split_once("= ")?;
    let took = rest.rsplit_once('<').and_then(|(_, time)| nanoseconds(time.strip_suffix('>')?)).unwrap_or(0);
    let mut words = rest.split_whitespace();
    let first = words.next()?;
    if first == "?" {
        return None;
    }
    let result = number(first)?;
    let error = words.next().filter(|_| result == -1).and_then(errno);
    Some((error.map_or(result, |error| -i64::from(error)), took))
}

fn number(word: &str) -> Option<i64> {
    if word == "NULL" {
        return Some(0);
    }
    match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|number| number as i64),
        None if word.len() > 1 && word.starts_with('0') => i64::from_str_radix(word, 8).ok(),
        None => word.parse().ok(),
    }
}

fn numbers(word: &str) -> Vec<i64> {
    word.trim_matches(['[', ']']).split(',').filter_map(|word| number(word.trim())).collect()
}

/// A socket's address: its family and port, or its path.
fn address(word: &str) -> (Vec<i64>, Vec<String>) {
    let family = word.split("sa_family=").nth(1).and_then(|rest| number(rest.split([',', '}']).next()?)).unwrap_or(0);
    let path = word.split("sun_path=").nth(1).and_then(|rest| unquoted(rest.trim_start_matches('@')));
    let port = word.split("htons(").nth(1).and_then(|rest| number(rest.split(')').next()?));
    let port = port.map_or(0, |port| i64::from((port as u16).swap_bytes()));
    (vec![family | port << 16], path.into_iter().collect())
}

/// The text between quotes, with escapes resolved.
fn unquoted(word: &str) -> Option<String> {
    let inner = word.strip_prefix('"')?;
    let mut bytes = Vec::new();
    let mut letters = inner.bytes().peekable();
    while let Some(byte) = letters.next() {
        match byte {
            b'"' => break,
            b'\\' => match letters.next()? {
                b'n' => bytes.push(b'\n'),
                b't' => bytes.push(b'\t'),
                b'r' => bytes.push(b'\r'),
                b'v' => bytes.push(0x0b),
                b'f' => bytes.push(0x0c),
                first @ b'0'..=b'7' => {
                    let mut value = u32::from(first - b'0');
                    while let Some(digit @ b'0'..=b'7') = letters.peek().copied() {
                        value = value * 8 + u32::from(digit - b'0');
                        letters.next();
                    }
                    bytes.push(value as u8);
                }
                other => bytes.push(other),
            },
            other => bytes.push(other),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number of an error by its name.
fn errno(name: &str) -> Option<i32> {
    macro_rules! number {
        ($($known:ident)*) => {
            match name {
                $(stringify!($known) => Some(libc::$known),)*
                // An error that no file call returns; it matters only that the call failed.
                _ => name.starts_with('E').then_some(libc::EIO),
            }
        };
    }
    number! {
        EPERM ENOENT EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST EXDEV ENODEV ENOTDIR
        EISDIR EINVAL EMFILE ENOTTY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE ERANGE ENAMETOOLONG ENOTEMPTY ELOOP
        ENODATA EOVERFLOW EOPNOTSUPP ETIMEDOUT EINPROGRESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Seen {
        match events(7, line).as_slice() {
            [Event::Call(seen)] => (**seen).clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lines_become_calls() {
        let seen = one(
            r#"12.000000500 openat(-100, "a\"b, (c", 0x241, 0666) = -1 ENOENT (No such file or directory) <0.000000900>"#,
        );
        assert_eq!((seen.start, seen.end), (12_000_000_500, 12_000_001_400));
        assert_eq!(seen.texts, ["a\"b, (c"]);
        assert_eq!((seen.arguments[0], seen.arguments[2], seen.arguments[3]), (-100, 0x241, 0o666));
        assert_eq!(seen.result, -i64::from(libc::ENOENT));
        let seen = one("1.1 pipe2([3, 4], 0x80000) = 0 <0.000000001>");
        assert_eq!(seen.numbers, [3, 4]);
        let seen = one(r#"1.1 write(1, ""..., 4096)   = 4096 <0.000000001>"#);
        assert_eq!((seen.arguments[2], seen.result), (4096, 4096));
        let seen = one(r#"1.1 connect(3, {sa_family=0x1, sun_path="/run/x"}, 110) = 0 <0.1>"#);
        assert_eq!((seen.numbers.as_slice(), seen.texts.as_slice()), (&[1][..], &["/run/x".to_owned()][..]));
    }

    #[test]
    fn births_and_ends_are_seen() {
        let lines =
            "1.0 clone(child_stack=NULL, flags=0x1200011, child_tidptr=0x7f) = 8 <0.1>\n2.0 +++ exited with 0 +++\n";
        let seen = events(7, lines);
        assert_eq!(seen[0], Event::Birth { at: 1_000_000_000, parent: 7, child: 8, flags: 0x120_0011 });
        assert_eq!(seen[2], Event::End { at: 2_000_000_000, thread: 7, off: OffCpu::default(), unwatched: 0 });
        assert!(events(7, "3.0 exit_group(0) = ?").is_empty());
        let ended = events(7, "3.0 futex(0x7f, 0x80, 0, NULL) = ?\n5.5 +++ exited with 0 +++\n");
        let off = OffCpu { asleep: 2_500_000_000, ..OffCpu::default() };
        assert_eq!(ended, [Event::End { at: 5_500_000_000, thread: 7, off, unwatched: 0 }]);
    }
}
