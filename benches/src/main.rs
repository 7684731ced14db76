//! Benchmarks of the engine against bare loops of system calls and against every rival that is installed.
//! In: a scratch folder, how often. Out: one table of medians and ratios, on the terminal and in a Markdown file.
//! `benches agent` and `benches bare ...` are what it starts as processes of their own.

mod against;
mod bare;
mod machine;
mod memory;
mod ours;
mod places;
mod report;
mod rivals;
mod rounds;
mod table;

use std::io;
use std::path::PathBuf;

const USAGE: &str = "\
usage: benches [--times N] [--scratch DIR] [--out FILE] [--against FILE] [--brief | --quick] [--places tmpfs,ext4,xfs] [--bakeoff FILE]

  --times N      rounds, each with every tool once (5)
  --scratch DIR  where images are made and removed again (a folder of its own below the system's for temporary files)
  --out FILE     Markdown file to write (results/benchmarks.md)
  --brief        a third of the work: shorter windows, for machines that others use too
  --against FILE a page of earlier: each ratio then and now; what was lost is measured again, and an error where it is lost twice
  --quick        a tenth of the work, to see that all tools run; its figures mean nothing
  --places LIST  tmpfs, ext4, xfs (all)
  --bakeoff FILE the program whose agent is measured (this one, which has the same engine built in)
";

/// What was asked for on the command line.
pub struct Asked {
    times: usize,
    scratch: PathBuf,
    out: PathBuf,
    against: Option<PathBuf>,
    quick: bool,
    brief: bool,
    places: Vec<String>,
}

fn asked(words: &[&str]) -> Result<Asked, String> {
    let scratch = std::env::temp_dir().join(format!("bakeoff-benches-{}", std::process::id()));
    let places = ["tmpfs", "ext4", "xfs"].map(String::from).to_vec();
    let mut asked = Asked {
        times: 5,
        scratch,
        out: "results/benchmarks.md".into(),
        against: None,
        quick: false,
        brief: false,
        places,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().map(|w| (*w).to_owned()).ok_or(format!("{word} needs a value\n\n{USAGE}"));
        match *word {
            "--times" => asked.times = value()?.parse().map_err(|_| "--times needs a number".to_owned())?,
            "--scratch" => asked.scratch = value()?.into(),
            "--out" => asked.out = value()?.into(),
            "--against" => asked.against = Some(value()?.into()),
            "--places" => asked.places = value()?.split(',').map(str::to_owned).collect(),
            "--bakeoff" => ours::use_program(value()?.into())?,
            "--quick" => asked.quick = true,
            "--brief" => asked.brief = true,
            other => return Err(format!("{other} is not known\n\n{USAGE}")),
        }
    }
    Ok(asked)
}

fn bare(words: &[&str]) -> Option<table::Measured> {
    let n = |text: &str| text.parse::<u64>().ok();
    Some(match words {
        ["random-read", path, bytes, count] => bare::random_read(path, n(bytes)?, n(count)?),
        ["ring-read", path, bytes, count] => bare::ring_read(path, n(bytes)?, n(count)?, 32, 16),
        ["sequential-read", path, times] => bare::sequential_read(path, n(times)?),
        ["constant-write", path, bytes] => bare::constant_write(path, n(bytes)?),
        [work, root, files, workers] => bare::small_files(work, root, n(files)?, n(workers)?),
        _ => return None,
    })
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.split_first() {
        Some((&"agent", _)) => engine::agent(io::stdin().lock(), io::stdout()).map_err(|e| format!("the agent: {e}")),
        Some((&"bare", words)) => {
            let done = bare(words).ok_or("no such loop")?;
            println!("{} {}", done.per_second, done.per_cpu_second.unwrap_or(f64::NAN));
            Ok(())
        }
        _ => {
            // Without root, nothing is mounted either.
            let _ = system::own_mounts::enter();
            report::make(&asked(&words)?)
        }
    }
}
