//! The one way to standard output and standard error: safe for terminals, and never the end of a run.
//! In: text. Out: the same with control characters made visible, or a quiet end where nobody reads any more.
//! `print!` and its relatives are replaced in this whole program, so that none can be forgotten: the standard ones panic.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set where work goes on although nobody reads what it prints.
static GOES_ON: AtomicBool = AtomicBool::new(false);

/// Standard output is gone, and that was said.
static GONE: AtomicBool = AtomicBool::new(false);

/// Text for standard output; what a foreign ledger or file brings along cannot drive the terminal.
macro_rules! print {
    ($($text:tt)*) => { $crate::out::write(&format!($($text)*)) };
}

/// A line for standard output.
macro_rules! println {
    () => { $crate::out::write("\n") };
    ($($text:tt)*) => { $crate::out::write(&(format!($($text)*) + "\n")) };
}

/// Text for standard error.
macro_rules! eprint {
    ($($text:tt)*) => { $crate::out::complain(&format!($($text)*)) };
}

/// A line for standard error.
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::out::complain(&(format!($($text)*) + "\n")) };
}

/// From here on the loss of standard output ends nothing: the work matters more than what is printed of it.
pub fn go_on_unread() {
    GOES_ON.store(true, Ordering::Relaxed);
}

/// Writes text to standard output.
pub fn write(text: &str) {
    send(&report::screen(text));
}

/// Writes data to standard output: as it is for a program that reads it, and as text for a person at a terminal.
pub fn data(text: &str) {
    if std::io::stdout().is_terminal() { write(text) } else { send(text) }
}

/// Writes text to standard error; there is nowhere to complain where that fails.
pub fn complain(text: &str) {
    let _ = std::io::stderr().write_all(report::screen(text).as_bytes());
}

fn send(text: &str) {
    if GONE.load(Ordering::Relaxed) {
        return;
    }
    let mut out = std::io::stdout().lock();
    let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) else { return };
    drop(out);
    if GOES_ON.load(Ordering::Relaxed) {
        GONE.store(true, Ordering::Relaxed);
        complain(&format!("bakeoff: standard output is closed ({error}); the work continues\n"));
        return;
    }
    if error.kind() == ErrorKind::BrokenPipe {
        // As every other program ends whose reader has seen enough.
        let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
    }
    complain(&format!("bakeoff: writing to standard output: {error}\n"));
    std::process::exit(1);
}
