//! What is shown in a browser, given at the command line.
//! In: words typed by a person. Out: [`ServeArgs`], parsed.

use clap::Args;
use std::net::SocketAddr;

/// Where pages are served unless another place is named: to this machine alone, at any port that is free.
pub const ADDRESS: &str = "127.0.0.1:0";

pub const SERVE_EXAMPLES: &str = "\
Examples:
  bakeoff serve                    prints the address to open; Ctrl-C stops it
  bakeoff serve --ledger /srv/bakeoff.db --address 127.0.0.1:8765
  ssh -L 8765:127.0.0.1:8765 HOST  from another machine: a tunnel to that port";

/// `bakeoff serve`
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Address and port to listen on; port 0: any free port. At a non-loopback address traffic is not encrypted: anyone on the network path can read the pages
    #[arg(long, value_name = "ADDRESS:PORT", default_value = ADDRESS)]
    pub address: SocketAddr,
}
