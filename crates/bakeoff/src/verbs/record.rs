//! `bakeoff record -o FILE -- COMMAND`: records what a program does to the files of a folder, as a trace.
//! In: a command. Out: a trace file, and a summary on standard error, since the command has standard output.

use super::export::write_new;
use crate::args::{RecordArgs, WatchedBy};
use crate::failure::Failure;
use jiff::Timestamp;
use signal_hook::consts::SIGINT;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trace::{Recorded, Recording, Watcher};

/// Records a command.
pub fn record(args: &RecordArgs) -> Result<u8, Failure> {
    let shown = args.output.display();
    if args.output.exists() {
        return Err(Failure::usage(format!("{shown} exists; name another file with -o")));
    }
    let filesystem = system::mounts::of_path(&args.folder).map_or_else(|| "unknown".into(), |mount| mount.kind);
    let asked = Recording {
        command: args.command.clone(),
        folder: args.folder.clone(),
        watcher: args.with.map(|watcher| match watcher {
            WatchedBy::Ebpf => Watcher::Ebpf,
            WatchedBy::Strace => Watcher::Strace,
        }),
        made_by: format!("bakeoff {}", env!("CARGO_PKG_VERSION")),
        now: Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string(),
        filesystem,
        kernel: system::machine::describe().kernel,
        free_memory: system::in_memory::available(),
    };
    // An interrupt at the terminal is for the command; its calls until then are kept.
    signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)))
        .map_err(|error| Failure::new(format!("preparing for an interruption: {error}")))?;
    let line = crate::text::line_of(&args.command);
    let recorded = trace::record(&asked).map_err(|why| Failure::new(format!("recording `{line}`: {why}")))?;
    let bytes = trace::packed(&recorded.trace).map_err(|error| Failure::new(format!("writing {shown}: {error}")))?;
    write_new(&args.output, &bytes)?;
    tell(&recorded, bytes.len());
    eprintln!("`bakeoff run {}` replays it on each contender", shell_words::quote(&args.output.to_string_lossy()));
    if recorded.status.success() {
        return Ok(0);
    }
    Err(Failure::new(format!("`{line}` ended with {}; the trace has its calls until then", recorded.status)))
}

/// Prints what was recorded, and its overhead.
fn tell(recorded: &Recorded, bytes: usize) {
    let header = &recorded.trace.header;
    let overhead = &header.overhead;
    let (elapsed, added) = (header.elapsed_ns as f64 / 1e9, overhead.in_all_ns() as f64 / 1e9);
    if let Some(why) = &recorded.without_ebpf {
        eprintln!("recorded with strace, which is slower than eBPF ({why})");
    }
    eprintln!(
        "recorded {} calls and waits of {} threads and processes on {}; files and folders at the start: {}; trace: {:.1} MiB",
        header.actions,
        header.threads,
        header.filesystem,
        recorded.trace.tree.len(),
        bytes as f64 / f64::from(1 << 20)
    );
    eprintln!(
        "{} recorded {} calls in {elapsed:.2} s; recording adds about {:.1} us to each, {added:.2} s in all ({:.0} %), which a replay leaves out",
        overhead.watcher,
        overhead.calls,
        (overhead.between_ns + overhead.within_ns) as f64 / 1e3,
        100.0 * added / elapsed.max(1e-9),
    );
    for note in &header.unseen {
        eprintln!("not recorded and not replayed: {note}");
    }
    let expected = trace::expected(&recorded.trace);
    eprintln!("a replay takes the program's time within about {} %", expected.percent);
    for reason in &expected.reasons {
        eprintln!("  {reason}");
    }
}
