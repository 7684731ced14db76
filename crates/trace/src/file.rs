//! The file format of traces: lines of JSON, compressed with gzip, so that `zcat` shows them.
//! In: a [`Trace`], or an untrusted file. Out: the other one; a trace that was read is checked.

use crate::trace::{ACTIONS_LIMIT, Action, ENTRIES_LIMIT, Entry, FORMAT, Header, Trace};
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use system::input::{self, Unreadable};

/// Most bytes of a line.
const LINE_LIMIT: u64 = 64 << 10;

/// Most characters of an error about a line: it may quote the line.
const ERROR_LIMIT: usize = 200;

/// Whether a name is that of a trace.
pub fn is_trace_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "trace")
}

/// Identifies a trace file's content: checksum and length, as gzip uses them (RFC 1952), of the file itself.
///
/// # Errors
/// It is not a regular file, or the system's error.
pub fn checksum(path: &Path) -> Result<String, Unreadable> {
    let mut from = input::open(path)?;
    let mut sum = flate2::Crc::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(format!("{:08x}-{}", sum.sum(), sum.amount())),
            read => sum.update(&buffer[..read]),
        }
    }
}

/// A trace as the bytes of its file.
///
/// # Errors
/// Never in practice: all of it is text and numbers.
pub fn packed(trace: &Trace) -> std::io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let header =
        Header { entries: trace.tree.len() as u64, actions: trace.actions.len() as u64, ..trace.header.clone() };
    let mut line = |value: &dyn erased::Line| -> std::io::Result<()> {
        packed.write_all(&value.json()?)?;
        packed.write_all(b"\n")
    };
    line(&header)?;
    trace.tree.iter().try_for_each(|entry| line(entry))?;
    trace.actions.iter().try_for_each(|action| line(action))?;
    packed.finish()
}

mod erased {
    /// A value that is one line of the file.
    pub trait Line {
        fn json(&self) -> std::io::Result<Vec<u8>>;
    }

    impl<T: serde::Serialize> Line for T {
        fn json(&self) -> std::io::Result<Vec<u8>> {
            serde_json::to_vec(self).map_err(std::io::Error::from)
        }
    }
}

/// Reads a trace.
///
/// # Errors
/// It cannot be read, is not a trace, or is invalid; in a sentence.
pub fn read(path: &Path) -> Result<Trace, String> {
    let file = input::open(path).map_err(|why| why.to_string())?;
    from_lines(BufReader::new(MultiGzDecoder::new(BufReader::new(file))))
}

/// Reads an uncompressed trace.
///
/// # Errors
/// As [`read`].
pub fn from_lines(from: impl BufRead) -> Result<Trace, String> {
    let mut lines = Lines { from, number: 0 };
    let header: Header = lines.next()?;
    if header.format != FORMAT {
        return Err(format!("it has format {}, and this version reads {FORMAT}", header.format));
    }
    let number = |count: u64, limit: usize, what: &str| match usize::try_from(count) {
        Ok(count) if count <= limit => Ok(count),
        _ => Err(format!("its header gives {count} {what}; the limit is {limit}")),
    };
    let (entries, actions) =
        (number(header.entries, ENTRIES_LIMIT, "entries")?, number(header.actions, ACTIONS_LIMIT, "actions")?);
    let tree = (0..entries).map(|_| lines.next::<Entry>()).collect::<Result<Vec<_>, _>>()?;
    let actions = (0..actions).map(|_| lines.next::<Action>()).collect::<Result<Vec<_>, _>>()?;
    let trace = Trace { header, tree, actions };
    trace.check()?;
    Ok(trace)
}

struct Lines<R> {
    from: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    fn next<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        self.number += 1;
        let mut line = Vec::new();
        let read = self.from.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line);
        let read = read.map_err(|error| format!("line {}: {error}", self.number))?;
        if read == 0 {
            return Err(format!("it ends before line {}: it is truncated", self.number));
        }
        serde_json::from_slice(&line).map_err(|error| {
            let text: String = error.to_string().chars().take(ERROR_LIMIT).collect();
            format!("line {}: {text}", self.number)
        })
    }
}
