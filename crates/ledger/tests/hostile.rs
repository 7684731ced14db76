//! Ledgers and exported runs crafted to harm their reader: each gives one sentence, in bounded time and memory.

mod support;

use ledger::import::{export, import_bytes, import_file};
use ledger::{Access, Ledger, histogram};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use support::sample;

/// Longest acceptable error text, in bytes.
const SENTENCE: usize = 1000;
/// A query that never ends.
const ENDLESS: &str = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)";

/// A ledger with one run, which a test then changes through SQLite.
struct Trap {
    folder: tempfile::TempDir,
    id: String,
}

impl Trap {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let imported = import_bytes(&sample("bonnie-2.00.csv"), "bonnie.csv").expect("it is read");
        let mut ledger = Ledger::open(&folder.path().join("a.db"), Access::Write).expect("a ledger");
        let id = ledger.keep_imported(&imported).expect("it is kept");
        Self { folder, id }
    }

    fn set(sql: &str) -> Self {
        let trap = Self::new();
        trap.change(sql);
        trap
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("a.db")
    }

    fn change(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.path()).expect("SQLite opens it");
        connection.execute_batch("PRAGMA writable_schema = ON; PRAGMA foreign_keys = OFF").expect("it may");
        connection.execute_batch(sql).expect("SQLite does as it is asked");
    }

    /// The error of each way in: reading, writing, importing.
    fn refusals(&self) -> Vec<String> {
        let path = self.path();
        let mut lines = Vec::new();
        for access in [Access::Read, Access::Write] {
            lines.extend(
                Ledger::open(&path, access).and_then(|ledger| all_of(&ledger)).err().map(|error| error.to_string()),
            );
        }
        lines.extend(import_file(&path).err().map(|error| error.to_string()));
        lines
    }

    /// Every way in refuses it, with these words in one sentence.
    fn assert_refused(&self, words: &str) {
        let output = self.refusals();
        assert_eq!(output.len(), 3, "some way in takes it: {output:?}");
        for sentence in output {
            assert!(sentence.contains(words) && sentence.len() < SENTENCE, "{sentence}");
        }
    }
}

/// Everything that showing a ledger reads.
fn all_of(ledger: &Ledger) -> Result<(), ledger::LedgerError> {
    for run in ledger.runs()? {
        ledger.contenders(&run.id)?;
        ledger.trials(&run.id)?;
    }
    Ok(())
}

#[test]
fn a_table_that_is_an_endless_view_is_not_read() {
    let columns = "1 AS id, 'r' AS run, 0 AS block, 0 AS position, 0 AS attempt, 0 AS contender";
    let view = format!("DROP TABLE trials; CREATE VIEW trials AS {ENDLESS} SELECT {columns} FROM n");
    Trap::set(&view).assert_refused("view `trials`");
    Trap::set(&format!("CREATE VIEW trap AS {ENDLESS} SELECT x FROM n")).assert_refused("view `trap`");
}

#[test]
fn triggers_in_a_ledger_never_run() {
    let wild = format!(
        "CREATE TABLE more (x); CREATE TRIGGER wild AFTER INSERT ON trials BEGIN INSERT INTO more {ENDLESS} SELECT x FROM n; END"
    );
    Trap::set(&wild).assert_refused("differs from that of bakeoff");
    let wild = "CREATE TRIGGER wild AFTER INSERT ON runs BEGIN DELETE FROM runs; END";
    Trap::set(wild).assert_refused("trigger `wild`");
}

#[test]
fn a_schema_that_computes_is_not_read() {
    let rewritten = |from: &str, to: &str| {
        format!("UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = 'runs'")
    };
    let check = "TEXT NOT NULL CHECK (length(randomblob(1000000000)) > 0)";
    Trap::set(&rewritten("title        TEXT NOT NULL", &format!("title {check}"))).assert_refused("`runs`");
    let column = "title TEXT AS (hex(zeroblob(500000000))) STORED";
    Trap::set(&rewritten("title        TEXT NOT NULL", column)).assert_refused("");
    Trap::set("CREATE INDEX slow ON runs (hex(zeroblob(id)))").assert_refused("index `slow`");
    Trap::set("DROP INDEX trials_by_run").assert_refused("indexes");
}

#[test]
fn a_schema_version_below_zero_is_a_sentence() {
    Trap::set("PRAGMA user_version = -1").assert_refused("version -1");
    Trap::set("PRAGMA user_version = -2147483648").assert_refused("no bakeoff writes");
    Trap::set("PRAGMA user_version = 0").assert_refused("differs from that of bakeoff");
}

#[test]
fn an_index_that_names_one_row_many_times_costs_no_more_than_a_run_may() {
    // The index belongs to another table: every entry leads to a row that it does not describe.
    let swap = "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'runs') WHERE name = 'phases'";
    assert_eq!(Trap::set(swap).refusals().len(), 3);
}

#[test]
fn an_id_that_is_a_path_or_a_book_is_refused_and_not_repeated_whole() {
    let renamed = |to: &str| format!("UPDATE runs SET id = {to}");
    Trap::set(&renamed("'../../../etc/cron.d/x'")).assert_refused("../../../etc/cron.d/x");
    Trap::set(&renamed("replace(hex(zeroblob(50000)), '0', 'a')")).assert_refused("aaaaaaaa");
    Trap::set(&renamed("''")).assert_refused("an id in a different form");
    Trap::set(&renamed("char(27) || ']0;title' || char(7)")).assert_refused("\\u{1b}]0;title");
}

#[test]
fn rows_that_contradict_each_other_are_refused() {
    Trap::set("UPDATE trials SET contender = 4000000000").assert_refused("contender 4000000000");
    Trap::set("UPDATE contenders SET number = 7").assert_refused("numbered in order");
    Trap::set("UPDATE contenders SET twin_of = 5").assert_refused("a control repeats");
    Trap::set("UPDATE trials SET block = 4000000000").assert_refused("of round 4000000000");
    Trap::set("UPDATE trials SET block = -1").assert_refused("cannot be read");
    Trap::set("UPDATE trials SET workload = hex(zeroblob(50000))").assert_refused("the name of a workload");
}

#[test]
fn text_that_is_no_record_is_a_sentence_however_deep_or_long() {
    let deep = "'{\"title\":' || replace(hex(zeroblob(100000)), '0', '[')";
    Trap::set(&format!("UPDATE runs SET new_run = {deep}")).assert_refused("cannot be read");
    Trap::set("UPDATE contenders SET asked = '{\"a\": 1e999}'").assert_refused("cannot be read");
    Trap::set("UPDATE trials SET found = 'NaN'").assert_refused("cannot be read");
    let long = "UPDATE runs SET status = hex(zeroblob(1000000))";
    Trap::set(long).assert_refused("cannot be read");
}

/// The error of importing a changed export of a trap's run.
fn portable_refusal(change: impl FnOnce(&mut Value)) -> String {
    let trap = Trap::new();
    let ledger = Ledger::open(&trap.path(), Access::Read).expect("it opens");
    let text = export(&ledger, &trap.id, false).expect("it is exported");
    let mut value: Value = serde_json::from_str(&text).expect("it is JSON");
    change(&mut value);
    let error = import_bytes(value.to_string().as_bytes(), "changed.json").expect_err("it is refused").to_string();
    assert!(error.len() < SENTENCE, "the error has {} bytes", error.len());
    error
}

#[test]
fn an_exported_run_with_such_an_id_is_refused() {
    assert!(portable_refusal(|run| run["run"]["id"] = json!("../../etc")).contains("../../etc"));
    assert!(portable_refusal(|run| run["run"]["id"] = json!("a".repeat(100_000))).contains("aaaa"));
    assert!(portable_refusal(|run| run["kind"] = json!("x".repeat(100_000))).contains("not a result of fio"));
    assert!(portable_refusal(|run| run["run"]["status"] = json!("x".repeat(100_000))).contains("unknown variant"));
}

#[test]
fn an_exported_run_with_impossible_times_is_refused() {
    assert!(portable_refusal(|run| run["run"]["began_ms"] = json!(-1)).contains("time"));
    assert!(portable_refusal(|run| run["trials"][0]["ended_ms"] = json!(i64::MIN)).contains("time"));
    assert!(portable_refusal(|run| run["trials"][0]["began_ms"] = json!(1e300)).contains("expected i64"));
}

#[test]
fn a_part_of_a_plan_cut_into_billions_is_refused() {
    let part = |index: u32| json!({ "index": index, "run": "x", "finished": true, "machine": null });
    for (of, parts) in
        [(u32::MAX, vec![part(1)]), (2, vec![part(9)]), (2, vec![]), (2, vec![part(0), part(1), part(1)])]
    {
        let merged = json!({ "of": of, "parts": parts });
        assert!(
            portable_refusal(|run| run["run"]["new"]["merged"] = merged).contains("list of shards is invalid"),
            "{of}"
        );
    }
}

#[test]
fn objects_without_end_are_counted_before_they_are_made() {
    let many = format!("{{\"kind\":\"bakeoff-run\",\"portable_version\":1,\"x\":[{}]}}", "{},".repeat(4_100_000));
    let error = import_bytes(many.as_bytes(), "many.json").expect_err("it is refused").to_string();
    assert!(error.contains("objects") && error.len() < SENTENCE, "{error}");
}

/// A histogram with this head and these bytes of counts.
fn crafted(length: u32, digits: u32, highest: u64, counts: &[u8]) -> String {
    use base64::Engine;
    use std::io::Write;
    let mut plain = Vec::new();
    for number in [0x1c84_9313, length, 0, digits] {
        plain.extend(u32::to_be_bytes(number));
    }
    plain.extend(1u64.to_be_bytes());
    plain.extend(highest.to_be_bytes());
    plain.extend(1f64.to_be_bytes());
    plain.extend(counts);
    let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    deflated.write_all(&plain).expect("memory takes it");
    let body = deflated.finish().expect("memory takes it");
    let mut packed = 0x1c84_9314u32.to_be_bytes().to_vec();
    packed.extend((body.len() as u32).to_be_bytes());
    packed.extend(body);
    base64::prelude::BASE64_STANDARD.encode(packed)
}

#[test]
fn a_histogram_that_announces_gigabytes_is_refused_before_they_are_taken() {
    let refusal = |text: &str| histogram::read(text).expect_err("it is refused").to_string();
    assert!(refusal(&crafted(i32::MAX as u32, 3, 1 << 40, &[2])).contains("declares more data than it holds"));
    assert!(refusal(&crafted(1, 5, u64::MAX, &[2])).contains("digits"));
    assert!(refusal(&crafted(100 << 20, 3, 1 << 40, &vec![0; 100 << 20])).contains("declares more"));
    assert!(refusal(&"A".repeat(histogram::TEXT_LIMIT + 4)).contains("longer"));
    assert!(refusal(&crafted(9, 3, 1 << 40, &[0xff; 9])).contains("counted"), "a number that cannot be negated");
    let most = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    assert!(refusal(&crafted(27, 3, 1 << 40, &[most; 3].concat())).contains("counted"), "a sum beyond 64 bits");
    assert!(refusal("AAAA").contains("HDR V2"));
    assert_eq!(histogram::read(&crafted(1, 3, 1 << 43, &[2])).expect("it is one").len(), 1);
}

#[test]
fn an_exported_run_with_such_a_histogram_is_refused() {
    let trap = crafted(i32::MAX as u32, 3, 1 << 40, &[2]);
    let latency = json!({ "item": { "count": 1, "min_ns": 1, "max_ns": 1, "mean_ns": 1.0, "hdr": trap } });
    let error = portable_refusal(|run| run["trials"][0]["phases"][0]["outcome"]["groups"][0]["latency"] = latency);
    assert!(error.contains("a histogram declares"), "{error}");
}

#[test]
fn a_ledger_that_ends_in_the_middle_or_is_mostly_hole_is_a_sentence() {
    let trap = Trap::new();
    let file = std::fs::OpenOptions::new().write(true).open(trap.path()).expect("it opens");
    file.set_len(1 << 40).expect("a sparse file");
    drop(file);
    for access in [Access::Read, Access::Write] {
        drop(Ledger::open(&trap.path(), access).and_then(|ledger| all_of(&ledger)));
    }
    assert!(Path::new(&trap.path()).exists());
}

#[test]
fn a_histogram_as_any_program_writes_it_is_read() {
    use base64::Engine;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
    let mut recorded = hdrhistogram::Histogram::<u64>::new_with_bounds(1, (1 << 43) - 1, 3).expect("bounds of ours");
    (1..5000).for_each(|value| recorded.saturating_record(value * value * value));
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&recorded, &mut bytes).expect("memory takes it");
    assert_eq!(histogram::read(&base64::prelude::BASE64_STANDARD.encode(bytes)), Ok(recorded));
}
