//! The engine's process alone, for its tests and for benches.
//! In: requests as JSON lines on standard input. Out: replies as JSON lines on standard output.
//! `bakeoff agent` does the same in the product's binary.

use std::io;

fn main() -> io::Result<()> {
    engine::agent(io::stdin().lock(), io::stdout())
}
