//! The command line of Bakeoff.
//! In: a command line. Out: the output of the verbs, and an exit status.
//! It is a library so that it compiles in parallel with the engine; the program, which depends on everything, only calls [`main`].

// The standard macros panic on a closed pipe; `out` has replacements.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod out;

mod args;
mod catalogue;
mod claims;
mod clients;
mod cluster;
mod combinations;
mod comparing;
mod contenders;
mod estimate;
mod failure;
mod fault_table;
mod features;
mod file_limit;
mod findings;
mod fio_jobs;
mod forecast;
mod gallery;
mod help;
mod image_size;
mod json;
mod leaderboard;
mod ledger_pages;
mod live;
mod log;
mod measured;
mod mix_report;
mod mounted_by;
mod nearest;
mod own_files;
mod own_work;
mod pace;
mod place;
mod power_cuts;
mod programs;
mod progress;
mod published;
mod questions;
mod reference;
mod resolve;
mod scratch;
mod served_disk;
mod session;
mod show;
mod split;
mod text;
mod traces;
mod tree_profile;
mod tuning;
mod verbs;

use args::{Arguments, Verb};
use failure::Failure;
use std::io::IsTerminal;
use std::process::ExitCode;

/// The program: parses its arguments, carries them out, and returns its exit status.
pub fn main() -> ExitCode {
    let arguments = help::parsed().unwrap_or_else(|refused| misunderstood(&refused));
    if measures(&arguments.verb) || matches!(arguments.verb, Verb::Clean(_)) {
        out::go_on_unread();
    }
    if mounts(&arguments.verb) && !clients::are_there() {
        // Without the right to do so, mounts stay visible to all processes, as in earlier versions.
        let _ = system::own_mounts::enter();
    }
    let too_large = file_limit::watch();
    match carry_out(&arguments) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            let error = format!("bakeoff: {}{}\n", failure.text, file_limit::reason(&too_large));
            let is_read = std::io::stderr().is_terminal();
            eprint!("{}", if is_read { text::folded(&error, text::width()) } else { error });
            ExitCode::from(failure.status)
        }
    }
}

/// Whether the verb mounts filesystems for this process alone: MPI clients exist already and work on the same mounts. `clean`
/// unmounts leftovers where they are.
fn mounts(verb: &Verb) -> bool {
    measures(verb) || matches!(verb, Verb::Features(_))
}

/// Whether the verb measures contenders, which takes minutes.
fn measures(verb: &Verb) -> bool {
    matches!(
        verb,
        Verb::Run(_) | Verb::Resume(_) | Verb::Shard(_) | Verb::Tune(_) | Verb::Powercut(_) | Verb::Faults(_)
    )
}

/// Prints the parser's message, help or an error, and exits.
fn misunderstood(note: &clap::Error) -> ! {
    let plain = std::env::args_os().all(|word| !word.to_string_lossy().chars().any(char::is_control));
    if plain {
        note.exit();
    }
    eprint!("{}", note.render());
    std::process::exit(note.exit_code())
}

fn carry_out(arguments: &Arguments) -> Result<u8, Failure> {
    let ledger = &arguments.ledger;
    match &arguments.verb {
        Verb::Run(args) => verbs::run::run(ledger, args),
        Verb::Ranks(args) => verbs::ranks::ranks(ledger, args),
        Verb::Plan(args) => verbs::plan::plan(args),
        Verb::Resume(args) => session::resume(ledger, args),
        Verb::Show(args) => verbs::show::show(ledger, args),
        Verb::Report(args) => verbs::report::report(ledger, args),
        Verb::Compare(args) => verbs::compare::compare(ledger, args),
        Verb::Tune(args) => verbs::tune::tune(args),
        Verb::Claims(args) => verbs::claims::claims(ledger, args),
        Verb::Record(args) => verbs::record::record(args),
        Verb::Profile(args) => verbs::profile::profile(args),
        Verb::Submit(args) => verbs::submit::submit(args),
        Verb::Shard(args) => verbs::shard::shard(args),
        Verb::Collect(args) => verbs::collect::collect(args),
        Verb::Import(args) => verbs::import::import(ledger, args),
        Verb::Export(args) => verbs::export::export(ledger, args),
        Verb::Publish(args) => verbs::publish::publish(ledger, args),
        Verb::Gallery(args) => verbs::gallery::gallery(args),
        Verb::Powercut(args) => verbs::powercut::powercut(args),
        Verb::Faults(args) => verbs::faults::faults(args),
        Verb::ServeDisk(args) => verbs::serve_disk::serve_disk(args),
        Verb::Serve(args) => verbs::serve::serve(ledger, args),
        Verb::Systems(args) => verbs::systems::systems(args),
        Verb::Features(args) => verbs::features::features(args),
        Verb::Workloads(args) => verbs::workloads::workloads(args),
        Verb::Doctor(args) => verbs::doctor::doctor(args),
        Verb::Clean(args) => verbs::clean::clean(args),
        Verb::Agent => verbs::agent::agent(),
        Verb::Witness => verbs::powercut::witness(),
        Verb::Guest => staging::boot().map(|()| 0).map_err(Failure::from),
        Verb::Manual(args) => verbs::manual::manual(args),
        Verb::Help(args) => help::help(args),
    }
}
