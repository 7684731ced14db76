//! The limit of this process on the size of files (RLIMIT_FSIZE, `ulimit -f`): by itself the kernel ends a process that exceeds it.
//! In: the signal SIGXFSZ. Out: writes that answer EFBIG, as every other error is answered, and a sentence with the limit.
//! Programs that are started have the signal's default again, since a handler ends with exec.

use signal_hook::consts::SIGXFSZ;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Has writes beyond the limit fail instead of ending this process; set once one did.
pub fn watch() -> Arc<AtomicBool> {
    let exceeded = Arc::new(AtomicBool::new(false));
    // Where no handler can be set, the kernel ends the process as before.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::clone(&exceeded));
    exceeded
}

/// The limit in a part of a sentence, where a write exceeded it; else nothing.
pub fn reason(exceeded: &AtomicBool) -> String {
    match system::process::file_size_limit() {
        Some(bytes) if exceeded.load(Ordering::SeqCst) => format!(
            "; a file would exceed {}, the limit of this process (RLIMIT_FSIZE): raise it with `ulimit -f unlimited`",
            records::show_bytes(bytes)
        ),
        _ => String::new(),
    }
}
