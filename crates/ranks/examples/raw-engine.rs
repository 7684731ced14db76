//! A test engine that keeps every single latency: it speaks the agent protocol, makes latencies up, and writes them to files.
//! In: requests as JSON lines; RAW_FOLDER for raw values, and RAW_DIES, the client that dies once. Out: replies; `raw-CLIENT-PHASE` files.

use base64::Engine as _;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use workload::message::{PROTOCOL, Reply, Request};
use workload::outcome::{GroupOutcome, Histogram, PhaseOutcome};
use workload::program::Client;

const VALUES: u64 = 4_000;

fn say(reply: &Reply) {
    println!("{}", serde_json::to_string(reply).expect("a reply"));
    std::io::stdout().flush().expect("the runner hears");
}

fn main() {
    let folder = PathBuf::from(std::env::var_os("RAW_FOLDER").expect("RAW_FOLDER"));
    say(&Reply::Hello { protocol: PROTOCOL, version: "raw".into(), pid: std::process::id() });
    let mut client = Client { number: 0, of: 1, shift: 1 };
    let mut input = std::io::stdin().lock();
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).expect("a line") == 0 {
            return;
        }
        match serde_json::from_str(&line).expect("a request") {
            Request::Load(program) => {
                client = program.client.expect("one client of several");
                say(&Reply::Loaded { lacking: Vec::new() });
            }
            Request::PerformTogether { phase, .. } => {
                say(&Reply::Ready);
                let mut start = String::new();
                input.read_line(&mut start).expect("a start");
                perform(&folder, client, phase, &start);
            }
            Request::CountCached { .. } => say(&Reply::Cached { bytes: Some(0), files: 10 }),
            Request::Quit => return,
            other => say(&Reply::Refused { reason: format!("{other:?}") }),
        }
    }
}

fn perform(folder: &std::path::Path, client: Client, phase: usize, start: &str) {
    let Ok(Request::Start { at_ns }) = serde_json::from_str(start) else {
        return say(&Reply::Failed { phase, partial: None, reason: "not begun".into(), killed: false });
    };
    let dies = std::env::var("RAW_DIES").is_ok_and(|number| number == client.number.to_string());
    if dies && std::fs::File::create_new(folder.join("died")).is_ok() {
        std::process::exit(9);
    }
    let mut state = u64::from(client.number) * 1_000 + phase as u64 + 1;
    let mut values = Vec::new();
    for _ in 0..VALUES {
        // xorshift64: any generator will do.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // The last client is twenty times as slow, so that a mean of percentiles is far off.
        let slow = if client.number + 1 == client.of { 20 } else { 1 };
        values.push((1_000 + state % 900_000) * slow);
    }
    let text: String = values.iter().map(|ns| format!("{ns}\n")).collect();
    std::fs::write(folder.join(format!("raw-{}-{phase}", client.number)), text).expect("raw values");
    say(&Reply::Done(Box::new(outcome(phase, &values, at_ns))));
}

fn outcome(phase: usize, values: &[u64], at_ns: u64) -> PhaseOutcome {
    let mut hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(1, (1 << 43) - 1, 3).expect("bounds");
    values.iter().for_each(|ns| hdr.record(*ns).expect("within bounds"));
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&hdr, &mut bytes).expect("serialized");
    let (count, sum) = (values.len() as u64, values.iter().sum::<u64>());
    let item = Histogram {
        count,
        min_ns: *values.iter().min().expect("values"),
        max_ns: *values.iter().max().expect("values"),
        mean_ns: sum as f64 / count as f64,
        hdr: base64::engine::general_purpose::STANDARD.encode(bytes),
    };
    let group = GroupOutcome {
        name: "all".into(),
        items: count,
        returned_ns: sum,
        bytes_read: 0,
        bytes_written: 0,
        workers_ns: vec![sum],
        latency: BTreeMap::from([("item".to_owned(), item)]),
        lead_ns: 0,
        pace: None,
    };
    PhaseOutcome {
        phase,
        items: count,
        returned_ns: sum,
        durable_ns: Some(sum + 1),
        groups: vec![group],
        began_ns: Some(at_ns),
        ..PhaseOutcome::default()
    }
}
