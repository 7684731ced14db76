//! All output to standard output and standard error: safe for terminals, and never the end of a run.
//! In: text. Out: the text with control characters made visible; a closed pipe ends the program quietly.
//! `print!` and its relatives are replaced in the whole program, since the standard ones panic on write errors.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set if work continues after its output is closed.
static GOES_ON: AtomicBool = AtomicBool::new(false);

/// Standard output is closed, and this was reported.
static GONE: AtomicBool = AtomicBool::new(false);

/// Text for standard output; control characters from foreign ledgers or files cannot affect the terminal.
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

/// From now on a closed standard output does not end the program: the work matters more than its output.
pub fn go_on_unread() {
    GOES_ON.store(true, Ordering::Relaxed);
}

/// Writes text to standard output.
pub fn write(text: &str) {
    send(&report::screen(text));
}

/// Writes data to standard output: unchanged to a pipe or file, as harmless text to a terminal.
pub fn data(text: &str) {
    if std::io::stdout().is_terminal() { write(text) } else { send(text) }
}

/// Writes text to standard error; errors of this are ignored.
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
        // End like any other program whose reader has closed the pipe.
        let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
    }
    complain(&format!("bakeoff: writing to standard output: {error}\n"));
    std::process::exit(1);
}
