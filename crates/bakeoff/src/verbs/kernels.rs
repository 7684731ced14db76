//! `bakeoff systems --kernels`: which Debian kernels are available for guests, and which are downloaded.
//! In: Debian's suites, cached or read now. Out: a table on standard output, or its JSON form (docs/reference/json.md).

use crate::failure::Failure;
use crate::json::{self, Answer};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use staging::{DebianKernel, DebianKernels};

/// Kernels of Debian for guests.
#[derive(Serialize, JsonSchema)]
pub struct Kernels {
    /// When Debian's suites were read: RFC 3339, UTC; null if never.
    read: Option<String>,
    #[serde(flatten)]
    found: DebianKernels,
}

impl Answer for Kernels {
    const SCHEMA: &'static str = "bakeoff-kernels";
}

/// Lists them.
pub fn kernels(as_json: bool) -> Result<u8, Failure> {
    let found = staging::debian_kernels()?;
    let read = found.read_ms.and_then(|ms| Timestamp::from_millisecond(ms as i64).ok());
    if as_json {
        json::print(&Kernels { read: read.map(|read| read.to_string()), found })?;
        return Ok(0);
    }
    println!("{:<12} {:<22} {:<20} here", "kernel", "version", "suite");
    found.kernels.iter().for_each(one);
    if let Some(newest) = &found.newest {
        println!("\ndebian:newest is {newest}");
    }
    match read.map(|read| read.strftime("%Y-%m-%d %H:%M UTC").to_string()) {
        Some(read) => println!("Package lists of Debian's suites are from {read}"),
        None => println!("The package lists of Debian's suites were never read; only downloaded kernels are listed"),
    }
    if let Some(why) = &found.not_read {
        println!("Refreshing the package lists of Debian's suites failed: {why}; check the network");
    }
    found.unread.iter().for_each(|suite| println!("Reading {} failed then: {}", suite.suite, suite.why));
    Ok(0)
}

fn one(kernel: &DebianKernel) {
    let or = |text: &Option<String>, other: &str| text.clone().unwrap_or_else(|| other.into());
    let (version, suite) = (or(&kernel.version, "-"), or(&kernel.suite, "no longer in any"));
    println!(
        "{}",
        format!("{:<12} {version:<22} {suite:<20} {}", kernel.name, or(&kernel.release_here, "")).trim_end()
    );
}
