//! A stage over a stream returns what the stage itself returns, and ends at an invalid request or with the stream.

use staging::{
    Asked, Contender, DIRECTORY, Down, Engine, Link, Peer, Registry, Remote, Staged, Target, Transport, Where, serve,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;
use system::Journal;

/// A transport to a thread of this process.
struct Thread {
    link: Link,
    serving: Option<JoinHandle<()>>,
}

struct ThreadPeer;

impl Peer for ThreadPeer {
    fn name(&self) -> &str {
        "the thread"
    }
    fn fate(&self) -> String {
        "it ended".into()
    }
    fn kill(&self) {}
}

impl Transport for Thread {
    fn link(&self) -> &Link {
        &self.link
    }
    fn end(&mut self) -> Down {
        self.link.hang_up();
        let ended = self.serving.take().map(JoinHandle::join);
        let problem = matches!(ended, Some(Err(_))).then(|| "the thread panicked".into());
        Down { problems: problem.into_iter().collect(), ..Down::default() }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.end();
    }
}

/// Serves a directory on a thread; its engine repeats its input.
fn served(folder: &Path) -> (UnixStream, JoinHandle<()>) {
    let (ours, theirs) = UnixStream::pair().expect("a pair of streams");
    let place = Where::Directory(folder.into());
    let serving = std::thread::spawn(move || {
        let output = theirs.try_clone().expect("another handle");
        let engine = |_| vec!["cat".to_owned()];
        serve(theirs, output, &engine, |_, journal| Target::open(&Registry::embedded()?, &place, journal));
    });
    (ours, serving)
}

fn staged(folder: &Path) -> Remote<Thread> {
    let (stream, serving) = served(folder);
    let link = Link::open(stream, ThreadPeer).expect("it listens");
    link.await_hello(Duration::from_secs(60)).expect("hello");
    let contender = Contender { label: "here".into(), filesystem: DIRECTORY.into(), ..Contender::default() };
    let asked = Asked { contender: Box::new(contender), ..Asked::default() };
    let transport = Thread { link, serving: Some(serving) };
    Remote::stage(transport, asked, Duration::from_secs(60), &Journal::new()).expect("it is staged")
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("it is there").count()
}

#[test]
fn a_stage_over_a_stream_answers_every_question_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut remote = staged(folder.path());
    let setup = remote.setup();
    assert!(setup.shared && setup.root.is_dir() && setup.root.starts_with(folder.path().canonicalize().unwrap()));
    let before = remote.look().expect("counters");
    std::fs::write(setup.root.join("file"), vec![7; 1 << 20]).expect("it is written");
    remote.sync().expect("it is written back");
    // The kernel counts CPU time in ticks of 10 ms at most.
    std::thread::sleep(Duration::from_millis(100));
    let seen = remote.since(&before).expect("counters");
    assert!(seen.elapsed_ns > 0 && seen.cpu.total_ns() > 0, "{seen:?}");
    assert_eq!(remote.drop_caches().expect("emptied").complete, setup.found.cold_possible);
    assert!(remote.settle().expect("settled").seconds >= 0.0);
    assert!(remote.usage().expect("space").total_bytes > 0);
    assert!(remote.failed_below("the work").is_none());
    assert_eq!(remote.machine(), None, "it is this one");
    let closing = Box::new(remote).close().expect("closed");
    assert!(closing.used.is_some());
    assert_eq!(entries(folder.path()), 0);
}

#[test]
fn counters_since_an_earlier_look_include_the_time_before_the_last_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut remote = staged(folder.path());
    let first = remote.look().expect("counters");
    let pause = Duration::from_millis(300);
    std::thread::sleep(pause);
    remote.look().expect("counters");
    let seen = remote.since(&first).expect("counters");
    assert!(u128::from(seen.elapsed_ns) >= pause.as_nanos(), "{seen:?}");
}

#[test]
fn the_engines_lines_pass_both_ways_and_end_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut remote = staged(folder.path());
    let Engine::Elsewhere(mut line) = remote.engine().expect("it starts") else { panic!("it is elsewhere") };
    let mut replies = BufReader::new(line.output);
    for printed in ["one\n", "> two, which begins as a mark does\n", "\n", "{\"alive\":3}\n"] {
        line.input.write_all(printed.as_bytes()).and_then(|()| line.input.flush()).expect("it is sent");
        let mut heard = String::new();
        replies.read_line(&mut heard).expect("it answers");
        assert_eq!(heard, printed);
    }
    remote.sync().expect("the stage answers beside it");
    (line.hang_up)();
    let mut rest = Vec::new();
    replies.read_to_end(&mut rest).expect("the end");
    assert!(rest.is_empty());
    Box::new(remote).close().expect("closed");
    assert_eq!(entries(folder.path()), 0);
}

#[test]
fn a_server_ends_at_an_invalid_request_and_takes_down_its_stage() {
    for nonsense in ["\u{1}\u{2}\n", "\"look\"\n\"since\"\n\"close\"\n", "{\"stage\":{}}\n", ""] {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut stream, serving) = served(folder.path());
        stream.write_all(nonsense.as_bytes()).expect("it is sent");
        stream.shutdown(std::net::Shutdown::Write).expect("and no more");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it says hello and ends");
        assert!(text.starts_with("{\"hello\":"), "{text}");
        serving.join().expect("it ended in order");
        assert_eq!(entries(folder.path()), 0);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let remote = staged(folder.path());
    assert_eq!(entries(folder.path()), 1);
    drop(remote);
    assert_eq!(entries(folder.path()), 0);
}
