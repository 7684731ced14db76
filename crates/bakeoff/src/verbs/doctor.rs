//! `bakeoff doctor`: whether this machine is quiet enough for reliable measurements.
//! In: the scratch folder's disk and, if named, a device. Out: findings with advice, the machine's ceiling.

use crate::args::DoctorArgs;
use crate::failure::Failure;
use crate::json::{self, Answer};
use crate::text;
use crate::verbs::agent;
use records::outcome::Ceiling;
use schemars::JsonSchema;
use serde::Serialize;
use system::Sysfs as _;
use system::doctor::{Check, Level};

/// What was found about this machine.
#[derive(Serialize, JsonSchema)]
pub struct Doctor {
    /// The worst level of all checks.
    worst: Level,
    /// The checks.
    checks: Vec<Check>,
    /// What this machine's memory allows.
    ceiling: Ceiling,
}

impl Answer for Doctor {
    const SCHEMA: &'static str = "bakeoff-doctor";
}

/// Prints every check; the exit status is 1 if a finding prevents reliable figures.
pub fn doctor(args: &DoctorArgs) -> Result<u8, Failure> {
    let here = std::env::current_dir().map_err(|error| Failure::new(format!("finding the current folder: {error}")))?;
    let device = match &args.on {
        Some(path) => Some(system::BlockDevice::find(path).map_err(Failure::new)?),
        None => None,
    };
    let checks = system::doctor::examine(&here, device.as_ref());
    let worst = checks.iter().map(|check| check.level).max().unwrap_or(Level::Ok);
    let found = Doctor { worst, checks, ceiling: agent::measure_ceiling()? };
    if args.json {
        json::print(&found)?;
    } else {
        in_words(&found);
    }
    Ok(u8::from(worst == Level::Bad))
}

fn in_words(found: &Doctor) {
    for check in &found.checks {
        let mark = match check.level {
            Level::Ok => "ok  ",
            Level::Warn => "warn",
            Level::Bad => "BAD ",
        };
        text::print_beside(&format!("{mark}  {:<18} ", check.name), &check.finding);
        if !check.advice.is_empty() && check.level != Level::Ok {
            text::print_beside(&format!("{:25}-> ", ""), &check.advice);
        }
    }
    let ceiling = &found.ceiling;
    println!("\nCeilings of this machine's memory, one worker (no valid figure exceeds them):");
    println!("  data generator  {:>8.2} GB/s", ceiling.generate_bytes_per_second / 1e9);
    println!("  generate + copy {:>8.2} GB/s", ceiling.write_bytes_per_second / 1e9);
    println!("  clock           {:>8.1} ns per reading ({})", ceiling.clock_read_ns, ceiling.clock);
    println!("  clock error     {:>8.1} parts per million against the kernel's clock", ceiling.clock_error * 1e6);
    println!("  one latency     {:>8.1} ns to measure and record", ceiling.record_ns);
}
