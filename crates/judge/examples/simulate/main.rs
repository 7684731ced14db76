//! The simulation suite of the judge: are its error rates as promised?
//! In: `--short` for a form that takes seconds. Out: one report, as included in `docs/judge.md`.
//! Exits with status 1 where a promise is not kept.

mod draw;
mod picked;
mod play;
mod recorded;
mod suite;

use std::process::ExitCode;

fn main() -> ExitCode {
    let short = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--short") => true,
        Some(other) => {
            eprintln!("cannot simulate with \"{other}\": give --short or nothing");
            return ExitCode::from(2);
        }
    };
    let report = suite::run(if short { suite::Effort::SHORT } else { suite::Effort::FULL });
    println!("{}", report.text);
    for broken in &report.broken {
        println!("NOT KEPT: {broken}");
    }
    if report.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
