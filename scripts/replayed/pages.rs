//! Four threads update pages of one file at random and sync, as the writers of a database do; the main thread makes a checkpoint at the end.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::thread;

const PAGE: usize = 8192;

fn main() -> std::io::Result<()> {
    let rounds: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).expect("a number of rounds");
    let file = OpenOptions::new().create(true).truncate(true).read(true).write(true).open("pages")?;
    file.set_len(64 << 20)?;
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let file = &file;
            scope.spawn(move || update(file, thread, rounds).expect("pages can be written"));
        }
    });
    let copied = fs::copy("pages", "checkpoint.new")?;
    assert_eq!(copied, 64 << 20);
    File::open("checkpoint.new")?.sync_all()?;
    fs::rename("checkpoint.new", "checkpoint")
}

fn update(file: &File, thread: u64, rounds: u64) -> std::io::Result<()> {
    let mut state = thread + 1;
    let mut page = vec![0; PAGE];
    for round in 0..rounds {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let offset = state % 8192 * PAGE as u64;
        file.read_exact_at(&mut page, offset)?;
        for byte in &mut page {
            *byte = byte.wrapping_mul(31).wrapping_add(round as u8);
        }
        file.write_all_at(&page, offset)?;
        if round % 8 == 0 {
            file.sync_data()?;
        }
    }
    Ok(())
}
