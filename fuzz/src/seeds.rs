//! Input to begin with where this project holds no file of the kind: ledgers, exported runs, histograms, messages.
//! In: nothing. Out: bytes, made by the same code that writes the real ones.

use ledger::import::{export, import_bytes};
use ledger::{Access, Ledger};
use rusqlite::Connection;

/// Small results of another program, from which runs are made.
const RESULT: &str = "1.97,1.97,host,1,1,64M,,100,1,2000,2,300,3,40,4,5000,5,60,6,16,,,,,7,7,8,8,9,9,10,10,11,11,12,12,\
                      1us,2us,3us,4us,5us,6us,7us,8us,9us,10us,11us,12us\n";

/// What a column takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number.
    Number,
}

/// Every column of a ledger whose value is read.
pub const COLUMNS: [(&str, &str, Kind); 34] = [
    ("runs", "new_run", Kind::Text),
    ("runs", "id", Kind::Text),
    ("runs", "began_ms", Kind::Number),
    ("runs", "ended_ms", Kind::Number),
    ("runs", "status", Kind::Text),
    ("runs", "ending", Kind::Text),
    ("runs", "ceiling", Kind::Text),
    ("contenders", "run", Kind::Text),
    ("contenders", "number", Kind::Number),
    ("contenders", "label", Kind::Text),
    ("contenders", "twin_of", Kind::Number),
    ("contenders", "asked", Kind::Text),
    ("contenders", "error", Kind::Text),
    ("trials", "run", Kind::Text),
    ("trials", "block", Kind::Number),
    ("trials", "position", Kind::Number),
    ("trials", "attempt", Kind::Number),
    ("trials", "contender", Kind::Number),
    ("trials", "workload", Kind::Text),
    ("trials", "scale", Kind::Text),
    ("trials", "began_ms", Kind::Number),
    ("trials", "ended_ms", Kind::Number),
    ("trials", "status", Kind::Text),
    ("trials", "reason", Kind::Text),
    ("trials", "found", Kind::Text),
    ("trials", "closing", Kind::Text),
    ("trials", "remarks", Kind::Text),
    ("phases", "name", Kind::Text),
    ("phases", "cache", Kind::Text),
    ("phases", "figure", Kind::Text),
    ("phases", "outcome", Kind::Text),
    ("phases", "evidence", Kind::Text),
    ("commands", "status", Kind::Number),
    ("commands", "elapsed_ns", Kind::Number),
];

/// A ledger with one small run, in pages of the smallest size.
pub fn small_ledger() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("a.db");
    let small = Connection::open(&path).expect("SQLite makes a file");
    small.execute_batch("PRAGMA page_size = 512; VACUUM").expect("it may");
    drop(small);
    let mut imported = import_bytes(RESULT.as_bytes(), "a.csv").expect("it is read");
    imported.trials[0].phases.truncate(1);
    imported.run.new.works[0].phases.truncate(1);
    let mut ledger = Ledger::open(&path, Access::Write).expect("an empty file becomes a ledger");
    ledger.keep_imported(&imported).expect("it is kept");
    drop(ledger);
    // Without a journal beside it, the file is all there is.
    let whole = Connection::open(&path).expect("SQLite opens it");
    whole.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).expect("it may");
    drop(whole);
    std::fs::read(&path).expect("the file is there")
}

/// The seeds of a target; none where files of this project serve.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "ledger" => vec![small_ledger()],
        "rows" => rows(),
        "portable" => portables(),
        "histogram" => histograms(),
        "messages" => messages(),
        "options" => options(),
        "literature" => literature(),
        "request" => requests(),
        "trace" => traces(),
        _ => Vec::new(),
    }
}

/// Requests that are answered, and such as an attacker would send.
fn requests() -> Vec<Vec<u8>> {
    let target =
        "/0123456789abcdef0123456789abcdef/why?run=20261120-160843-3f2a&cell=small-files%2Fcreate%3Acold%2Fext4+x";
    let own = "Host: 127.0.0.1:8080\r\nOrigin: http://127.0.0.1:8080\r\nSec-Fetch-Site: same-origin\r\n";
    let seeds = [
        format!("GET {target} HTTP/1.1\r\n{own}\r\n"),
        format!("HEAD {target} HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"),
        format!("GET {target} HTTP/1.1\r\nHost: [::1]:8080\r\nSec-Fetch-Site: cross-site\r\n\r\n"),
        format!("POST {target} HTTP/1.1\r\n{own}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
        "GET /0123456789abcdef0123456789abcdef/../secret HTTP/1.1\r\nHost: evil.example\r\n\r\n".into(),
        format!("GET {target} HTTP/1.1\r\n{own}X: unended"),
    ];
    seeds.map(String::into_bytes).into()
}

/// The value that each column of a small ledger has, as the target takes it.
fn rows() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("a.db");
    std::fs::write(&path, small_ledger()).expect("written");
    let connection = Connection::open(&path).expect("SQLite opens it");
    let value = |table: &str, column: &str| {
        let query = format!("SELECT CAST({column} AS TEXT) FROM {table} LIMIT 1");
        connection.query_row(&query, [], |row| row.get::<_, Option<String>>(0)).ok().flatten().unwrap_or_default()
    };
    let seed = |(number, (table, column, kind)): (usize, &(&str, &str, Kind))| {
        let text = value(table, column);
        let bytes = match kind {
            Kind::Text => text.into_bytes(),
            Kind::Number => text.parse::<i64>().unwrap_or_default().to_le_bytes().to_vec(),
        };
        let mut seed = vec![number as u8];
        seed.extend((bytes.len() as u16).to_le_bytes());
        seed.extend(bytes);
        seed
    };
    COLUMNS.iter().enumerate().map(seed).collect()
}

fn portables() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("a.db");
    std::fs::write(&path, small_ledger()).expect("written");
    let ledger = Ledger::open(&path, Access::Read).expect("it opens");
    let id = ledger.run(None).expect("it holds one").id;
    let whole = export(&ledger, &id, false).expect("it is exported");
    let alone = "\"merged\":null";
    assert!(whole.contains(alone), "an imported run was not put together");
    let part = |index: u32| format!(r#"{{"index":{index},"run":"a","finished":true,"machine":null}}"#);
    let one = format!(r#""merged":{{"of":2,"parts":[{}]}}"#, part(0));
    let both = format!(r#""merged":{{"of":2,"parts":[{},{}]}}"#, part(0), part(1));
    vec![whole.replace(alone, &one).into_bytes(), whole.replace(alone, &both).into_bytes(), whole.into_bytes()]
}

/// For each filesystem every flag that its file knows, and its mount options.
fn options() -> Vec<Vec<u8>> {
    let registry = staging::Registry::embedded().expect("what is compiled in is good");
    let seed = |(number, filesystem): (u8, &staging::Filesystem)| {
        let mount = filesystem.mount.options.iter().take(8).cloned().collect::<Vec<_>>().join(",");
        let settings = filesystem.settings.values().flat_map(|setting| [setting.flag.clone(), "1".into()]);
        let devices = filesystem.devices.iter().map(|device| format!("{}{}=/dev/loop7", device.flag, device.key));
        let words: Vec<String> = settings.chain(devices).chain(filesystem.make.switches.iter().cloned()).collect();
        let mut seed = [&[number], mount.as_bytes(), b"\n", words.join("\n").as_bytes()].concat();
        seed.truncate(500);
        seed
    };
    (0..).zip(registry.all()).map(seed).collect()
}

/// The first lines of each published file, after the byte that chooses its form.
fn literature() -> Vec<Vec<u8>> {
    let files = [
        include_str!("../../published/claims.csv"),
        include_str!("../../published/results.csv"),
        include_str!("../../published/sources.csv"),
        include_str!("../../published/features.csv"),
    ];
    let seed = |(form, text): (u8, &str)| {
        let lines: Vec<&str> = text.lines().take(4).collect();
        [&[form], lines.join("\n").as_bytes()].concat()
    };
    (b'0'..).zip(files).map(seed).collect()
}

fn histograms() -> Vec<Vec<u8>> {
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};
    let mut recorded = hdrhistogram::Histogram::<u64>::new_with_bounds(1, (1 << 43) - 1, 3).expect("bounds of ours");
    (1..200).for_each(|value| recorded.saturating_record(value * value * value));
    let (mut plain, mut packed) = (Vec::new(), Vec::new());
    V2Serializer::new().serialize(&recorded, &mut plain).expect("memory takes it");
    V2DeflateSerializer::new().serialize(&recorded, &mut packed).expect("memory takes it");
    use base64::Engine;
    vec![plain, base64::prelude::BASE64_STANDARD.encode(packed).into_bytes()]
}

/// The trace of two threads, unpacked.
fn traces() -> Vec<Vec<u8>> {
    let lines = [
        r#"{"format":1,"made_by":"bakeoff","recorded":"2026-01-01T00:00:00Z","command":["a"],"status":0,"filesystem":"ext4","kernel":"6","entries":3,"actions":7,"threads":2,"handles":1,"elapsed_ns":9,"overhead":{"watcher":"eBPF","calls":7,"between_ns":1,"within_ns":1},"compressible_before":0,"compressible_after":50,"unseen":[]}"#,
        r#"{"path":"d","mode":493,"kind":"folder"}"#,
        r#"{"path":"d/f","mode":420,"kind":{"file":4096}}"#,
        r#"{"path":"l","mode":511,"kind":{"symlink":"d/f"}}"#,
        r#"{"thread":0,"call":{"start":{"thread":1}}}"#,
        r#"{"thread":0,"think_ns":5,"took_ns":2,"result":3,"call":{"open":{"path":"d/f","flags":2,"mode":0,"handle":0}}}"#,
        r#"{"thread":0,"result":4096,"call":{"read-at":{"handle":0,"offset":0,"length":4096}}}"#,
        r#"{"thread":1,"result":100,"call":{"write":{"handle":0,"length":100}},"after":[1]}"#,
        r#"{"thread":1,"result":-2,"call":{"rename":{"from":"d/f","to":"g","flags":0}},"after":[2]}"#,
        r#"{"thread":0,"call":{"close":{"handle":0}},"after":[3]}"#,
        r#"{"thread":0,"call":"wait","after":[4]}"#,
    ];
    vec![lines.join("\n").into_bytes()]
}

fn messages() -> Vec<Vec<u8>> {
    use std::collections::BTreeMap;
    use workload::message::{PROTOCOL, Reply, Request};
    let catalog = workload::WorkCatalogue::builtin().expect("what is compiled in is good");
    let small = catalog.workload("small-files").expect("it is compiled in");
    let program = small.compile("quick", &BTreeMap::new(), 1).expect("it compiles").program;
    let requests = [Request::Load(Box::new(program)), Request::Perform { phase: 0, pass: 1, slices: 1 }, Request::Quit];
    let outcome = workload::outcome::PhaseOutcome { items: 3, durable_ns: Some(5), ..Default::default() };
    let replies = [
        Reply::Hello { protocol: PROTOCOL, version: "0.1.0".into(), pid: 1 },
        Reply::Progress { phase: 0, items: 1, of: Some(2), bytes: 3 },
        Reply::Done(Box::new(outcome)),
        Reply::Refused { reason: "no".into() },
    ];
    let requests = requests.iter().map(|request| serde_json::to_vec(request).expect("it is written"));
    requests.chain(replies.iter().map(|reply| serde_json::to_vec(reply).expect("it is written"))).collect()
}
