//! This program as a child process: it serves a directory, is an engine, or breaks the protocol.
//! In: words of its command line. Out: its standard output.

use crate::PROGRAM;
use staging::{Registry, Target, Where, serve};
use std::io::{BufRead, Write, stdin, stdout};
use std::process::Command;
use std::time::Duration;
use workload::message::{PROTOCOL, Reply};

/// Serves a stage in a folder, with this kind of engine.
pub fn stage(folder: &str, engine: &str) {
    let engine = |_| [PROGRAM, "engine", engine].map(String::from).to_vec();
    let place = Where::Directory(folder.into());
    serve(stdin(), stdout(), &engine, |_, journal| Target::open(&Registry::embedded()?, &place, journal));
}

/// The engine itself, or one that misbehaves during its first phase.
pub fn engine(kind: &str) {
    if kind == "works" {
        return engine::agent(stdin().lock(), stdout()).expect("it is talked with");
    }
    let say = |reply: &Reply| println!("{}", serde_json::to_string(reply).expect("JSON"));
    say(&Reply::Hello { protocol: PROTOCOL, version: "test".into(), pid: std::process::id() });
    for line in stdin().lock().lines() {
        let line = line.expect("a line");
        if !line.contains("perform") {
            say(&if line.contains("load") {
                Reply::Loaded { lacking: Vec::new() }
            } else {
                Reply::Cached { bytes: None, files: 0 }
            });
        } else if kind == "crashes" {
            std::process::exit(42);
        } else {
            let stage = std::os::unix::process::parent_id().to_string();
            let killed = Command::new("kill").args(["-KILL", &stage]).status().expect("kill starts");
            assert!(killed.success());
            std::process::exit(0);
        }
    }
}

/// Prints messages that must be refused, mostly after a hello.
pub fn babble(how: &str) {
    let version = if how == "other-version" { "0.0.0" } else { env!("CARGO_PKG_VERSION") };
    if !["nothing", "unasked"].contains(&how) {
        println!(r#"{{"hello":{{"version":"{version}","kernel":"6.1"}}}}"#);
    }
    match how {
        "garbage" => println!("\x7f\u{1}\u{2}"),
        "unasked" => {
            for _ in 0..2 {
                println!(r#"{{"answered":{{"answer":{{"Ok":"done"}},"commands":[]}}}}"#);
            }
        }
        // Until the other end closes the pipe.
        "long" => while stdout().write_all(&[b'x'; 1 << 16]).is_ok() {},
        "silent" => {}
        _ => {
            eprintln!("out of luck");
            std::process::exit(7);
        }
    }
    std::thread::sleep(Duration::from_secs(600));
}
