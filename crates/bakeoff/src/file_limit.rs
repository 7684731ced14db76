//! The limit of this process on file sizes (RLIMIT_FSIZE, `ulimit -f`): by default the kernel ends a process that exceeds it.
//! In: the signal SIGXFSZ. Out: writes fail with EFBIG like with any other error, and a clause that names the limit.
//! Started programs get the signal's default again, since exec resets handlers.

use signal_hook::consts::SIGXFSZ;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes writes beyond the limit fail instead of ending this process; the flag is set once one fails.
pub fn watch() -> Arc<AtomicBool> {
    let exceeded = Arc::new(AtomicBool::new(false));
    // Without a handler the kernel ends the process as before.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::clone(&exceeded));
    exceeded
}

/// A clause that names the limit if a write exceeded it; otherwise empty.
pub fn reason(exceeded: &AtomicBool) -> String {
    match system::process::file_size_limit() {
        Some(bytes) if exceeded.load(Ordering::SeqCst) => format!(
            "; a file would exceed {}, the limit of this process (RLIMIT_FSIZE): raise it with `ulimit -f unlimited`",
            records::show_bytes(bytes)
        ),
        _ => String::new(),
    }
}
