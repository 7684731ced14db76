//! Benchmarks of the engine against bare loops of system calls and against every rival that is installed.
//! In: a scratch folder, how often. Out: one table of medians and ratios, on the terminal and in a Markdown file.
//! `benches agent` and `benches bare ...` are what it starts as processes of their own.

mod bare;
mod ours;

use std::io;
use std::path::Path;
use workload::program::Engine;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let n = |text: &str| text.parse::<u64>().expect("a number");
    match words.as_slice() {
        ["agent"] => engine::agent(io::stdin().lock(), io::stdout()).expect("the agent's pipes"),
        ["bare", "random-read", path, bytes, count] => println!("{}", bare::random_read(path, n(bytes), n(count))),
        ["bare", "ring-read", path, bytes, count] => println!("{}", bare::ring_read(path, n(bytes), n(count), 32, 16)),
        ["bare", "sequential-read", path, times] => println!("{}", bare::sequential_read(path, n(times))),
        ["bare", "constant-write", path, bytes] => println!("{}", bare::constant_write(path, n(bytes))),
        ["bare", work, root, files, workers] => println!("{}", bare::small_files(work, root, n(files), n(workers))),
        ["ours", "random-read", root, bytes, count] => {
            println!("{}", ours::random_read(Path::new(root), n(bytes), n(count), Engine::Calls).unwrap())
        }
        ["ours", "ring-read", root, bytes, count] => {
            println!("{}", ours::random_read(Path::new(root), n(bytes), n(count), Engine::IoUring(32)).unwrap())
        }
        ["ours", "sequential-read", root, bytes, times] => {
            println!("{}", ours::sequential_read(Path::new(root), n(bytes), n(times)).unwrap())
        }
        ["ours", "write", root, bytes] => println!("{}", ours::fresh_write(Path::new(root), n(bytes)).unwrap()),
        ["ours", "small", root, files, workers] => {
            println!("{:?}", ours::small_files(Path::new(root), n(files), n(workers) as u32).unwrap())
        }
        ["ours", "ceiling", root] => println!("{:?}", ours::ceiling(Path::new(root)).unwrap()),
        ["ours", "start", root] => println!("{:?}", ours::start(Path::new(root)).unwrap()),
        _ => panic!("see the manual"),
    }
}
