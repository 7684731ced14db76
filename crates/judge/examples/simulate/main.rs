//! The simulation suite of the judge: are its error rates as promised?
//! In: `--short` for a form that takes seconds, and names of parts to run only these. Out: one report, as included in `docs/judge.md`.
//! Exits with status 1 where a promise is not kept.

mod draw;
mod picked;
mod play;
mod recorded;
mod suite;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (forms, parts): (Vec<&str>, Vec<&str>) =
        words.iter().map(String::as_str).partition(|word| word.starts_with('-'));
    let unknown = forms.iter().find(|form| **form != "--short");
    if let Some(other) = unknown.or(parts.iter().find(|part| suite::PARTS.iter().all(|known| known.0 != **part))) {
        let known = suite::PARTS.map(|part| part.0).join(", ");
        eprintln!("cannot simulate with \"{other}\": give --short, and any of {known}");
        return ExitCode::from(2);
    }
    let report = suite::run(if forms.is_empty() { suite::Effort::FULL } else { suite::Effort::SHORT }, &parts);
    println!("{}", report.text);
    for broken in &report.broken {
        println!("NOT KEPT: {broken}");
    }
    if report.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
