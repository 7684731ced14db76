//! `bakeoff manual`: manual pages and shell completions, generated from the command line's declaration.
//! In: a folder. Out: bakeoff.1 and one page a verb, completions for bash, zsh and fish.

use crate::args::{Arguments, ManualArgs};
use crate::failure::Failure;
use clap::CommandFactory;
use clap_complete::Shell;

/// Writes everything to the folder and names what was written.
pub fn manual(args: &ManualArgs) -> Result<u8, Failure> {
    let doing =
        |error: std::io::Error| Failure::new(format!("writing the manual to {}: {error}", args.folder.display()));
    std::fs::create_dir_all(&args.folder).map_err(doing)?;
    clap_mangen::generate_to(Arguments::command(), &args.folder).map_err(doing)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Arguments::command(), "bakeoff", &args.folder).map_err(doing)?;
    }
    println!("manual pages and completions are in {}", args.folder.display());
    Ok(0)
}
