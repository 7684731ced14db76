//! Prints what a workload compiles to: `cargo run -p bakeoff-workload --example program -- NAME SCALE [option=value...]`.
//! In: names on the command line. Out: the compiled workload as JSON, including the estimate.
//! For inspecting the engine's input, and for feeding it by hand.

use std::collections::BTreeMap;
use std::process::ExitCode;
use workload::WorkCatalogue;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, scale, settings @ ..] = &words[..] else {
        eprintln!("usage: program NAME SCALE [option=value...]");
        return ExitCode::FAILURE;
    };
    let settings: BTreeMap<String, String> = settings
        .iter()
        .filter_map(|word| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect();
    let compiled = WorkCatalogue::builtin().and_then(|catalog| catalog.workload(name)?.compile(scale, &settings, 1));
    match compiled.map(|compiled| serde_json::to_string(&compiled)) {
        Ok(Ok(text)) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
