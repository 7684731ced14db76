//! `bakeoff run --serve`: the page updates itself during a run, ends as the report, and does not slow the run, whichever clients connect.

mod support;

use ledger::{Access, Ledger};
use prerequisites::needs;
use report::{Material, View};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;
use support::Place;
use support::browser::{Server, Tab};

/// Most slow connections that are kept.
const MOST: usize = 400;
/// A connection that takes longer has met a full accept queue.
const A_FULL_QUEUE: Duration = Duration::from_millis(50);

/// A small run of two directories in memory.
fn run(place: &Place, samples: u32) -> Server {
    for name in ["a", "b"] {
        std::fs::create_dir_all(place.path(name)).expect("made");
    }
    let work = "run small-files --set files=3000 --set some=600 --dir a --dir b --seed 3";
    Server::of_run(place, &format!("{work} --samples {samples} --plain --report page --serve"))
}

#[test]
fn the_page_updates_itself_and_ends_as_the_report() {
    needs!(chromium);
    let place = Place::in_memory();
    let server = run(&place, 14);
    let mut tab = Tab::open(&place, &server.url);
    tab.value("window.kept = 'as it was opened'");
    tab.until("Number(document.body.dataset.done) >= Number(document.body.dataset.opened) + 2");
    tab.until("document.querySelectorAll('#operations figure').length >= 6");
    tab.until("document.querySelectorAll('#heat .row').length >= 2");
    tab.until("document.querySelectorAll('#operations .interval').length >= 1");
    let shown = tab.value("document.body.innerText");
    let shown = shown.as_str().expect("text");
    for words in ["On average", "trials", "Latency of the current phase", "on /", "of processor time in", "round 1: "] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    for odd in ["NaN", "undefined", "Infinity", "null"] {
        assert!(!shown.contains(odd), "{odd}: {shown}");
    }
    for (width, dark) in [(390, false), (390, true), (1200, false)] {
        assert_eq!(tab.beyond(width, dark), Vec::<String>::new(), "something is cut off");
    }
    assert_eq!(tab.value("window.kept"), "as it was opened", "it was not loaded again");
    tab.until("location.pathname.endsWith('/report') && document.readyState === 'complete'");
    tab.until("document.querySelectorAll('#overview').length === 1 && document.querySelectorAll('svg').length > 0");
    assert_eq!(tab.complaints, Vec::<String>::new());
    assert_eq!(server.ended(), Some(0));
    let written = std::fs::read_to_string(place.path("page/index.html")).expect("the report is written, too");
    let answer = tab.value("document.getElementById('answer').textContent");
    assert!(written.contains("id=\"answer\"") && !answer.as_str().expect("an answer").is_empty());
}

#[test]
fn the_news_are_those_of_the_run_and_its_report() {
    let place = Place::in_memory();
    let server = run(&place, 4);
    let mut last: BTreeMap<String, Value> = BTreeMap::new();
    let mut steps = Vec::new();
    server.follow(|topic, value| {
        if topic == "step" {
            steps.push(value["text"].as_str().unwrap_or_default().to_owned());
        }
        last.insert(topic.into(), value.clone());
        topic == "ended"
    });
    for topic in ["place", "step", "standings", "latency", "log", "warnings", "disk", "cost", "ended"] {
        assert!(last.contains_key(topic), "{topic} is missing: {:?}", last.keys());
    }
    // At most four events a second while trials run: shorter steps are not sent.
    let during = steps.iter().filter(|step| *step != "judging the results and writing the report").count();
    assert!(during >= 2 && during < steps.len(), "{steps:?}");
    assert_eq!(last["place"]["done"], last["place"]["of"], "{}", last["place"]);
    assert_eq!(last["ended"]["report"], true);
    let report = server.page("report");
    assert_eq!(server.ended(), Some(0));
    // The ratios are the report's.
    let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Read).expect("a ledger");
    let all = Material::read(&ledger, None).expect("a run");
    let view = View::of(&all).expect("it is judged");
    // One mkdir has no rank.
    let rows: Vec<_> = view.workloads[0].rows.iter().filter(|row| row.key != "create-folder:cold").collect();
    let operations = last["standings"]["operations"].as_array().expect("a list");
    assert_eq!((operations.len(), &last["standings"]["block"]), (rows.len(), &json!(4)));
    for operation in operations {
        let row = rows.iter().find(|row| row.title == operation["title"]).unwrap_or_else(|| panic!("{operation}"));
        for member in operation["members"].as_array().expect("a list") {
            let place =
                view.contenders.iter().position(|contender| contender.name == member["name"]).expect("a contender");
            let (shown, ratio) = (member["ratio"].as_f64().expect("a ratio"), row.cells[place].ratio.expect("a ratio"));
            assert!((ratio - shown).abs() < 0.001, "{}: {ratio} and {shown}", row.title);
            assert_eq!(member["intervals"].as_array().map(Vec::len), Some(4), "one for each block: {member}");
        }
    }
    assert!(report.contains("id=\"overview\"") && report.contains(&view.workloads[0].title));
}

/// Connections that send a byte now and then, and clients without the token, throughout a run.
#[test]
fn attackers_get_nothing_and_slow_no_run() {
    let place = Place::in_memory();
    let server = run(&place, 10);
    let strangers = ["/", "/report", "/events", "/live.js", "/00000000000000000000000000000000/events"];
    for target in strangers {
        let answer = server.ask_target(target);
        assert_eq!((answer.status, answer.body.as_str()), (404, "There is no such page.\n"), "{target}");
    }
    let foreign = format!("Host: {}\r\nOrigin: http://evil.example\r\nSec-Fetch-Site: cross-site", server.address);
    let events = format!("/{}/events", server.token());
    assert_eq!(server.ask_with(&events, &foreign).status, 403);
    assert_eq!(server.ask_with(&events, &format!("Host: evil.example:{}", server.address.port())).status, 403);
    assert_eq!(server.ask("report").status, 404, "there is none before the end");
    let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(1 << 20));
    let (mut slow, mut made): (Vec<TcpStream>, usize) = (Vec::new(), 0);
    let mut cost = Value::Null;
    server.follow(|topic, value| {
        if topic == "cost" {
            cost = value.clone();
            slow.iter_mut().for_each(|one| drop(one.write_all(b"x")));
        }
        if topic == "step" {
            slow.truncate(MOST);
            // A full queue stops this: a client waiting there would miss events, and the time in which the report can be fetched.
            let more = (0..40).map_while(|_| TcpStream::connect_timeout(&server.address, A_FULL_QUEUE).ok());
            let more: Vec<TcpStream> = more.inspect(|stream| drop(stream.set_nonblocking(true))).collect();
            made += more.len();
            slow.splice(0..0, more);
            slow.iter_mut().take(2).for_each(|one| drop(one.write_all(long.as_bytes())));
        }
        topic == "ended"
    });
    assert!(made >= 200, "{made} slow connections were made");
    let share = cost["served_ms"].as_f64().expect("a cost") / 1000.0 / cost["elapsed_s"].as_f64().expect("a time");
    assert!(share < 0.1, "the server took {:.1} % of a processor: {cost}", share * 100.0);
    server.page("report");
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn a_stopped_run_informs_the_clients_that_watch_it() {
    let place = Place::in_memory();
    let server = run(&place, 100);
    let (mut output, mut asked) = (Value::Null, false);
    server.follow(|topic, value| {
        // Not every number is sent while trials run.
        if topic == "place" && value["done"].as_u64() >= Some(2) && !asked {
            asked = true;
            let pid = Pid::from_child(&server.child);
            // SIGTERM rather than SIGINT: a shell that starts tests in the background makes them ignore Ctrl-C.
            kill_process(pid, Signal::TERM).expect("it lives");
        }
        output = value.clone();
        topic == "ended"
    });
    let text = output["text"].as_str().expect("a sentence");
    assert!(text.contains("stopped") && text.contains("bakeoff resume"), "{text}");
    server.page("report");
    assert_eq!(server.ended(), Some(3));
}

#[test]
fn a_run_waits_for_no_client_and_does_not_start_if_it_cannot_listen() {
    let place = Place::in_memory();
    std::fs::create_dir(place.path("a")).expect("made");
    let work = "run small-files --set files=200 --set some=50 --dir a --samples 1 --plain --no-report";
    let output = place.bakeoff(&format!("{work} --serve")).well();
    assert!(output.err.contains("live report: http://127.0.0.1:"), "{}", output.err);
    place.bakeoff(&format!("{work} --serve=nowhere")).refused(&["nowhere", "--serve"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address");
    place.bakeoff(&format!("{work} --serve={address}")).refused(&["listening on", &address.to_string(), "127.0.0.1:0"]);
    let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Read).expect("a ledger");
    assert_eq!(ledger.runs().expect("runs").len(), 1, "only the first was begun");
}
