//! Comparisons have an answer, and no sentence contradicts the table: in the terminal, on the page, in JSON and by `--fail-on`.

mod made;
mod support;

use made::{Made, keep};
use serde_json::Value;
use support::Place;
use support::browser::Server;

/// Phrases that no answer contains.
const NEVER: [&str; 7] = ["nothing to compare", "least far behind", "never", "Never", " others lead", "NaN", "infx"];
/// The change of B in a line of the table, and the same in JSON.
const CHANGES: [(&str, &str); 6] = [
    ("likely better", "likely-better"),
    ("likely worse", "likely-worse"),
    ("better", "better"),
    ("WORSE", "worse"),
    ("can't tell yet", "unresolved"),
    ("same", "same"),
];

/// A line of the terminal's table.
struct Line {
    times: f64,
    /// Half a unit of the ratio's last digit.
    half: f64,
    interval: String,
    change: &'static str,
}

fn lines(screen: &str) -> Vec<Line> {
    let table = screen.split("Switching ").next().expect("the table");
    let of = |line: &str| {
        let (word, change) = CHANGES.into_iter().find(|(word, _)| line.ends_with(&format!("  {word}")))?;
        let rest: Vec<&str> = line.trim_end_matches(word).split_whitespace().collect();
        // The interval has three words, or four with too few samples.
        let from = rest.len() - if rest.last() == Some(&"only") { 4 } else { 3 };
        let digits = rest[from - 1].split('.').nth(1).map_or(0, str::len) as i32;
        let times = rest[from - 1].parse().expect("a ratio");
        Some(Line { times, half: 0.5001 * 10f64.powi(-digits), interval: rest[from..].join(" "), change })
    };
    table.lines().filter_map(of).collect()
}

/// The number before a word: "up to likely 1.61x faster".
fn times_before(text: &str, word: &str) -> Option<f64> {
    text.split(&format!("x {word}")).next()?.split_whitespace().last()?.parse().ok()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks one comparison in every form.
fn agrees(place: &Place, server: &Server, a: &str, b: &str) {
    let screen = place.bakeoff(&format!("compare {a} {b}")).well().out;
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let json = place.bakeoff(&format!("compare {a} {b} --json")).well().out;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let rows = json["comparison"]["rows"].as_array().expect("rows");
    let lines = lines(&screen);
    assert_eq!(lines.len(), rows.len(), "{screen}");
    for (line, row) in lines.iter().zip(rows) {
        let ratio = row["ratio"].as_f64().expect("a ratio");
        assert!((line.times - ratio).abs() <= line.half, "{ratio}: {}\n{screen}", line.times);
        assert_eq!(row["change"], line.change, "{screen}");
        assert_eq!(line.interval.ends_with("only"), row["interval"].is_null(), "{screen}");
    }
    let answer = words(&screen[screen.find("Switching ").expect("an answer")..]);
    let answer = answer.split(" Not compared").next().unwrap_or_default();
    assert!(!NEVER.iter().any(|phrase| answer.contains(phrase)), "{answer}");
    let count = |wanted: &[&str]| lines.iter().filter(|line| wanted.contains(&line.change)).count();
    let counted = format!(
        "Better in {}, worse in {}, the same in {}, can't tell yet in {}.",
        count(&["better", "likely-better"]),
        count(&["worse", "likely-worse"]),
        count(&["same"]),
        count(&["unresolved"])
    );
    assert!(answer.contains(&counted), "{answer}: {counted}");
    furthest_agrees(answer, &lines, ("faster", "gain"), &["better", "likely-better"], &|times| 1.0 / times);
    furthest_agrees(answer, &lines, ("slower", "loss"), &["worse", "likely-worse"], &|times| times);
    page_agrees(&server.page(&format!("compare?a={a}&b={b}")), answer, &lines);
    let sentences = json["comparison"]["sentences"].as_array().expect("sentences");
    let sentences = &sentences[sentences.len() - rows.len()..];
    sentences.iter().zip(&lines).for_each(|(one, line)| sentence_agrees(one.as_str().expect("a text"), line));
}

/// "Up to 1.61x faster" is the line with the largest ratio.
fn furthest_agrees(
    answer: &str,
    lines: &[Line],
    (word, what): (&str, &str),
    changes: &[&str],
    turned: &dyn Fn(f64) -> f64,
) {
    let settled: Vec<&Line> = lines.iter().filter(|line| changes.contains(&line.change)).collect();
    assert_eq!(settled.is_empty(), answer.contains(&format!("no clear {what}")), "{answer}");
    let Some(furthest) = settled.iter().max_by(|x, y| turned(x.times).total_cmp(&turned(y.times))) else { return };
    let stated = times_before(answer, word).expect("how many times");
    // The line and the sentence may each be rounded by half of their last digit.
    let ends = [furthest.times - furthest.half, furthest.times + furthest.half].map(turned);
    let spare = 0.0051 * stated.max(1.0);
    let (low, high) = (ends[0].min(ends[1]) - spare, ends[0].max(ends[1]) + spare);
    assert!((low..=high).contains(&stated), "{answer}: {} in the table", furthest.times);
    let likely =
        answer.split(&format!("x {word}")).next().is_some_and(|text| text.rsplit(' ').nth(1) == Some("likely"));
    assert_eq!(likely, furthest.change.starts_with("likely"), "{answer}");
}

/// The page has the answer as its heading and below, and every figure of the lines.
fn page_agrees(html: &str, answer: &str, lines: &[Line]) {
    let plain = |html: &str| html.replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    let heading = html.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next()).map(plain).expect("a heading");
    assert!(answer.starts_with(&heading), "{heading}: {answer}");
    let shown: Vec<String> = html
        .split("<td class=\"whole\">")
        .skip(1)
        .filter_map(|cell| cell.split("</td>").next().map(str::to_owned))
        .collect();
    assert_eq!(shown.len(), lines.len(), "{html}");
    for (line, shown) in lines.iter().zip(shown) {
        let (times, interval) = shown.split_once(" (").expect("a ratio and its interval");
        assert_eq!(times.parse::<f64>().expect("a ratio"), line.times, "{shown}");
        assert_eq!(interval.trim_end_matches(')'), line.interval, "{shown}");
    }
}

/// A sentence of JSON: the verdict on B, and a ratio within its own interval.
fn sentence_agrees(sentence: &str, line: &Line) {
    let verdict = match line.change {
        "better" => ": better: ",
        "likely-better" => ": likely better: ",
        "worse" => ": worse: ",
        "likely-worse" => ": likely worse: ",
        "same" => ": as good",
        _ if line.interval.ends_with("only") => "allow no interval",
        _ => ": can't tell yet: ",
    };
    assert!(sentence.contains(verdict), "{sentence}: {}", line.change);
    let Some(word) = ["faster", "slower"].into_iter().find(|word| sentence.contains(&format!(" {word} ("))) else {
        return;
    };
    let (before, range) = sentence.split_once(&format!(" {word} (")).expect("a range");
    let stated = before.split_whitespace().last().unwrap_or_default();
    let stated: f64 = match stated {
        "%" => {
            1.0 + before
                .trim_end_matches(" %")
                .split_whitespace()
                .last()
                .and_then(|n| n.parse::<f64>().ok())
                .expect("a share")
                / 100.0
        }
        times => times.trim_end_matches('x').parse().expect("times"),
    };
    let ends: Vec<f64> = range.trim_end_matches(").").split(" to ").filter_map(|end| end.parse().ok()).collect();
    let spare = 0.051 * stated;
    assert!(ends.len() == 2 && ends[0] - spare <= stated && stated <= ends[1] + spare, "{sentence}");
    assert!(word == if line.times < 1.0 { "faster" } else { "slower" }, "{sentence}");
}

/// Runs and contenders without a difference, with small and large ones, with scatter, and with too few samples.
fn pairs(place: &Place) -> Vec<(String, String)> {
    let path = place.path("bakeoff.db");
    let run = |made: Made, blocks| keep(&path, &[made], blocks);
    let base = run(Made::of("ext4", 1.0), 6);
    let others = [
        run(Made::of("ext4", 1.0), 6),
        run(Made::of("ext4", 1.1), 6),
        run(Made::of("ext4", 0.6), 6),
        run(Made { read: 7.0, ..Made::of("ext4", 0.026) }, 6),
        run(Made { read: 0.004, hashed: 150.0, ..Made::of("ext4", 1.0) }, 6),
        run(Made { scatter: 0.9, ..Made::of("ext4", 1.0) }, 6),
        run(Made { scatter: 0.25, ..Made::of("ext4", 1.1) }, 6),
        run(Made { scatter: 0.25, hashed: 0.8, ..Made::of("ext4", 0.85) }, 6),
        run(Made::of("ext4", 1.3), 1),
    ];
    let both = keep(&path, &[Made::of("ext4", 1.0), Made { read: 0.5, scatter: 0.2, ..Made::of("xfs", 1.4) }], 6);
    let of_both = keep(&path, &[Made::of("ext4", 0.9), Made { scatter: 0.3, ..Made::of("xfs", 1.5) }], 6);
    let mut pairs: Vec<(String, String)> = others.into_iter().map(|other| (base.clone(), other)).collect();
    pairs.push((format!("{both}:ext4"), format!("{both}:xfs")));
    pairs.push((format!("{both}:xfs"), format!("{of_both}:xfs")));
    pairs.push((both, of_both));
    let turned: Vec<(String, String)> = pairs.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
    pairs.into_iter().chain(turned).collect()
}

#[test]
fn comparisons_are_answered() {
    let place = Place::new();
    let pairs = pairs(&place);
    let server = Server::start(&place, "serve");
    pairs.iter().for_each(|(a, b)| agrees(&place, &server, a, b));
}

#[test]
fn a_gate_counts_the_lines_of_the_table() {
    let place = Place::new();
    for (a, b) in pairs(&place) {
        for (gate, likely) in [("worse:5%", false), ("likely:5%", true), ("worse:0.25%,inconclusive", false)] {
            let words = format!("compare {a} {b} --fail-on {gate}");
            let (screen, json) = (place.bakeoff(&words), place.bakeoff(&format!("{words} --json")));
            assert_eq!(screen.status, json.status, "{words}: {}", screen.out);
            let json: Value = serde_json::from_str(&json.out).expect("JSON");
            let share = json["fail_on"].as_f64().expect("a share");
            let rows = json["comparison"]["rows"].as_array().expect("rows");
            // Its whole interval, as shown in the table, is beyond the gate.
            let is_beyond = |row: &&Value| row["interval"]["low"].as_f64().is_some_and(|low| low > 1.0 + share);
            let is_worse =
                |row: &&Value| ["worse", "likely-worse"].contains(&row["change"].as_str().unwrap_or_default());
            let all = rows.iter().filter(is_worse).filter(is_beyond).count();
            let count = |name: &str| json[name].as_array().expect("rows").len();
            let (failed, open) = (count("failures"), count("inconclusive"));
            let percent = if share == 0.0025 { "0.25 %" } else { "5.0 %" };
            let wanted = match (likely, failed) {
                (true, 0) => format!("Nothing is likely worse by more than {percent}."),
                (true, _) => format!("Likely worse by more than {percent}: {failed}"),
                (_, 0) if all > 0 => format!("Nothing is worse by more than {percent}, beyond doubt; likely: {all}"),
                (_, 0) => format!("Nothing is worse by more than {percent}, beyond doubt."),
                _ if all > failed => {
                    format!("Worse by more than {percent}, beyond doubt: {failed}; likely: {} more", all - failed)
                }
                _ => format!("Worse by more than {percent}, beyond doubt: {failed}"),
            };
            assert!(screen.out.lines().any(|line| line == wanted), "{words}: {wanted}\n{}", screen.out);
            assert!(!likely || failed == all, "{words}: {failed} of {all}\n{}", screen.out);
            let undecided =
                format!("Can't tell whether worse by more than {percent}: {open}. More samples are needed.");
            assert_eq!(
                screen.out.contains(&undecided),
                gate.ends_with("inconclusive") && open > 0,
                "{words}\n{}",
                screen.out
            );
            let status = match (failed, open) {
                (0, 1..) if gate.ends_with("inconclusive") => 5,
                (0, _) => 0,
                _ => 4,
            };
            assert_eq!(screen.status, Some(status), "{words}\n{}", screen.out);
        }
    }
}
