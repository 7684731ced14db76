//! `bakeoff serve`: the ledger in a browser.
//! In: a ledger, an address. Out: the URL on standard output, then pages until the program ends.

use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::ledger_pages::LedgerPages;
use ledger::{Access, Ledger};
use std::path::Path;
use web::Server;

/// Serves the ledger until this program is ended.
pub fn serve(ledger: &Path, args: &ServeArgs) -> Result<u8, Failure> {
    // An unreadable ledger is an error now, not only in the browser.
    Ledger::open(ledger, Access::Read)?.runs()?;
    let server = Server::bind(args.address)?;
    println!("{}", server.url());
    eprintln!("This address shows the ledger {}, read-only; Ctrl-C ends it.", ledger.display());
    if server.is_open_to_others() {
        eprintln!("{}", OPEN_TO_OTHERS);
    }
    server.serve(&mut LedgerPages::of(ledger), None)?;
    Ok(0)
}

/// Warning about an address that others can reach.
pub const OPEN_TO_OTHERS: &str = "Other machines can reach this address. Pages go over the network unencrypted, and anyone who sees the token in \
                                  the address can read them; an ssh tunnel to 127.0.0.1 keeps them private.";
