//! Writes the report of a ledger's latest run: `cargo run --example folder -- bakeoff.db report`.
//! In: a ledger and a folder. Out: the folder, every form in it; prints the terminal's tables and the time taken.

use ledger::{Access, Ledger};
use report::terminal::{Style, show};
use report::{Format, Material, View, write};
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(ledger), Some(folder)) = (words.next(), words.next()) else {
        return Err("write: folder LEDGER FOLDER".into());
    };
    let began = Instant::now();
    let material = Material::read(&Ledger::open(Path::new(&ledger), Access::Read)?, None)?;
    print!("{}", show(&View::of(&material)?, Style::of_stdout()));
    for &format in Format::ALL {
        let began = Instant::now();
        let files = write(&material, Path::new(&folder), &[format])?;
        println!("{}: {} files, {:.2} s", format.name(), files.len(), began.elapsed().as_secs_f64());
    }
    println!("all in {:.2} s", began.elapsed().as_secs_f64());
    Ok(())
}
