//! The fuzzer's program: one for all targets, so that it is built and linked once.
//! In: the name of a target in `BAKEOFF_FUZZ_TARGET`, libFuzzer's own options. Out: what libFuzzer prints.
//! Without a name it prints the targets, a line each: name and largest input. With a folder in `BAKEOFF_FUZZ_SEEDS` it writes
//! input to begin with there, a folder for each target.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

static RUN: OnceLock<fn(&[u8])> = OnceLock::new();

/// Writes what the fuzzer begins with where no file of this project serves.
fn write_seeds(folder: &Path) -> std::io::Result<()> {
    for target in fuzz::TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in fuzz::seeds::of(target.name).iter().enumerate() {
            std::fs::write(folder.join(number.to_string()), seed)?;
        }
    }
    Ok(())
}

/// The target that the environment names; without one they are listed, and that is all.
fn choose() {
    if let Some(folder) = std::env::var_os("BAKEOFF_FUZZ_SEEDS") {
        let written = write_seeds(Path::new(&folder));
        if let Err(error) = &written {
            eprintln!("writing input to begin with to {}: {error}", folder.display());
        }
        std::process::exit(i32::from(written.is_err()));
    }
    let name = std::env::var("BAKEOFF_FUZZ_TARGET").unwrap_or_default();
    match fuzz::TARGETS.iter().find(|target| target.name == name) {
        Some(target) => drop(RUN.set(target.run)),
        None => {
            fuzz::TARGETS.iter().for_each(|target| println!("{} {}", target.name, target.largest));
            std::process::exit(i32::from(!name.is_empty()));
        }
    }
}

libfuzzer_sys::fuzz_target!(init: choose(), |data: &[u8]| {
    if let Some(run) = RUN.get() {
        run(data);
    }
});
