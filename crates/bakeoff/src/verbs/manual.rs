//! `bakeoff manual`: manual pages and shell completions, generated from the command line's declaration.
//! In: a folder. Out: bakeoff.1 and one page per verb, completions for bash, zsh and fish; or the reference, as Markdown and schemas.

use crate::args::ManualArgs;
use crate::failure::Failure;
use crate::help;
use crate::reference;
use clap_complete::Shell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use system::create::Folder;

/// Most bytes of one page.
const PAGE_LIMIT: u64 = 4 << 20;

/// Writes everything to the folder and prints its name.
pub fn manual(args: &ManualArgs) -> Result<u8, Failure> {
    let doing =
        |error: std::io::Error| Failure::new(format!("writing the manual to {}: {error}", args.folder.display()));
    // The generators follow links and overwrite files, so they write to a private folder.
    let pages = tempfile::tempdir().map_err(doing)?;
    if args.reference {
        for (name, text) in reference::files()? {
            std::fs::write(pages.path().join(name), text).map_err(doing)?;
        }
    } else {
        generate(pages.path()).map_err(doing)?;
    }
    put(pages.path(), &args.folder).map_err(doing)?;
    let what = if args.reference { "the reference is" } else { "manual pages and completions are" };
    println!("{what} in {}", args.folder.display());
    Ok(0)
}

fn generate(folder: &Path) -> io::Result<()> {
    clap_mangen::generate_to(help::complete(), folder)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut help::complete(), "bakeoff", folder)?;
    }
    Ok(())
}

/// Copies all pages to the folder, or none if one would replace a foreign file.
fn put(pages: &Path, folder: &Path) -> io::Result<()> {
    let folder = Folder::make(folder)?;
    let pages = Folder::open(pages)?;
    let names = pages.names()?;
    for name in &names {
        match folder.read_file(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(ref there) if is_page(there)? => {}
            Ok(_) => {
                let text = format!("{} exists, and bakeoff did not write it", name.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
        }
    }
    for name in &names {
        let mut page = Vec::new();
        pages.read_file(name)?.read_to_end(&mut page)?;
        folder.replace(name, &page)?;
    }
    Ok(())
}

/// Whether a file is a page, a completion or the reference of an earlier bakeoff, by a text that they all contain.
fn is_page(file: &File) -> io::Result<bool> {
    let mut text = Vec::new();
    file.take(PAGE_LIMIT).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let signs = [".TH bakeoff", "#compdef bakeoff", "_bakeoff() {", "complete -c bakeoff", reference::SIGN];
    Ok(signs.iter().any(|sign| text.contains(sign)))
}
