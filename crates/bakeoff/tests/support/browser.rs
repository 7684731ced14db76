//! A server of this program, with requests like those of a browser or an attacker; and a headless browser.

use super::Place;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit for anything that is awaited.
const PATIENCE: Duration = Duration::from_secs(240);

/// A program that serves pages; ended on drop.
pub struct Server {
    pub child: Child,
    pub address: SocketAddr,
    pub url: String,
}

/// A parsed answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Server {
    /// Starts the program and reads the address that it prints.
    pub fn start(place: &Place, words: &str) -> Server {
        let mut child = place.spawn_with(words, Stdio::piped(), Stdio::null());
        let out = child.stdout.take().expect("its output");
        let mut url = String::new();
        for line in BufReader::new(out).lines() {
            let line = line.expect("a line");
            if line.starts_with("http://") {
                url = line;
                break;
            }
        }
        Server::at(child, &url)
    }

    /// Starts a run with a live page, and reads the URL from standard error.
    pub fn of_run(place: &Place, words: &str) -> Server {
        let mut child = place.spawn_with(words, Stdio::null(), Stdio::piped());
        let mut lines = BufReader::new(child.stderr.take().expect("its complaints")).lines();
        let mut heard = Vec::new();
        let url = loop {
            let line = lines.next().unwrap_or_else(|| panic!("no address among {heard:?}")).expect("a line");
            match line.strip_prefix("live report: ") {
                Some(url) => break url.to_owned(),
                None => heard.push(line),
            }
        };
        // The rest is read and discarded, so that the program never blocks.
        std::thread::spawn(move || lines.for_each(drop));
        Server::at(child, &url)
    }

    /// Follows the events of a run: topics and values, to the end of the stream or until `enough` returns true.
    pub fn follow(&self, mut enough: impl FnMut(&str, &Value) -> bool) {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let request = format!("GET /{}/events HTTP/1.1\r\nHost: {}\r\n\r\n", self.token(), self.address);
        stream.write_all(request.as_bytes()).expect("asked");
        let mut topic = String::new();
        for line in BufReader::new(stream).lines() {
            let line = line.expect("news");
            if let Some(name) = line.strip_prefix("event: ") {
                topic = name.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ")
                && enough(&topic, &serde_json::from_str(data).expect("JSON"))
            {
                return;
            }
        }
    }

    /// The exit status of the program.
    pub fn ended(mut self) -> Option<i32> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("it was started here") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("it goes on");
    }

    /// A program that serves at a printed URL.
    pub fn at(child: Child, url: &str) -> Server {
        let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("an address: {url:?}"));
        let address = rest.split('/').next().unwrap_or_default().parse().expect("an address with its port");
        Server { child, address, url: url.to_owned() }
    }

    pub fn token(&self) -> &str {
        self.url.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
    }

    /// The URL of a page.
    pub fn way(&self, page: &str) -> String {
        format!("{}{page}", self.url)
    }

    /// A page that must exist.
    pub fn page(&self, page: &str) -> String {
        let answer = self.ask(page);
        assert_eq!(answer.status, 200, "{page}: {answer:?}");
        answer.body
    }

    pub fn ask(&self, page: &str) -> Answer {
        self.ask_target(&format!("/{}/{}", self.token(), page.trim_start_matches("./")))
    }

    pub fn ask_target(&self, target: &str) -> Answer {
        self.ask_with(target, &format!("Host: {}", self.address))
    }

    pub fn ask_with(&self, target: &str, headers: &str) -> Answer {
        self.send(format!("GET {target} HTTP/1.1\r\n{headers}\r\n\r\n").as_bytes())
    }

    pub fn send(&self, request: &[u8]) -> Answer {
        self.try_send(request).expect("an answer")
    }

    /// The answer, if the connection lasts that long.
    pub fn try_send(&self, request: &[u8]) -> Option<Answer> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let _ = stream.shutdown(Shutdown::Both);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
    }

    /// Resident memory of the program in bytes.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).expect("a number") << 10
    }

    /// CPU time of the program.
    pub fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it lives");
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        let ticks: u64 = after.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 10)
    }

    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it lives").count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A headless browser with its own profile.
pub struct Browser {
    profile: std::path::PathBuf,
}

impl Browser {
    pub fn new(place: &Place) -> Browser {
        Browser { profile: place.path("chromium") }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("chromium");
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--enable-logging=stderr", "--v=0"])
            .arg(format!("--user-data-dir={}", self.profile.display()));
        command
    }

    /// The visible text of a static page; the browser must not print console messages.
    pub fn opened(&self, url: &str) -> String {
        self.dumped(url, &["--virtual-time-budget=5000"])
    }

    fn dumped(&self, url: &str, more: &[&str]) -> String {
        let output = self.command().args(more).args(["--dump-dom", url]).output().expect("chromium runs");
        let log = String::from_utf8_lossy(&output.stderr);
        let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert_eq!(complaints, Vec::<&str>::new(), "{url}");
        without_scripts(&String::from_utf8_lossy(&output.stdout))
    }
}

/// A tab of a browser that is controlled with Chromium's protocol through two pipes.
pub struct Tab {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    number: u64,
    /// Console messages and errors of the pages.
    pub complaints: Vec<String>,
}

impl Tab {
    /// Opens a page.
    pub fn open(place: &Place, url: &str) -> Tab {
        let flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update";
        let profile = place.path("chromium-tab");
        let line = format!(
            "exec chromium {flags} --user-data-dir={} --remote-debugging-pipe 3<&0 4>&1 >/dev/null 2>&1",
            profile.display()
        );
        let mut command = Command::new("sh");
        let mut child =
            command.args(["-c", &line]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("chromium starts");
        let (to, from) =
            (child.stdin.take().expect("a way in"), BufReader::new(child.stdout.take().expect("a way out")));
        let mut tab = Tab { child, to, from, session: None, number: 0, complaints: Vec::new() };
        let target = tab.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let session =
            tab.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }))["sessionId"].clone();
        tab.session = session.as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            tab.call(domain, json!({}));
        }
        tab.go(url);
        tab
    }

    /// Opens a page, and waits until it is loaded.
    pub fn go(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// Sets the width of pages, and light or dark mode.
    fn as_on(&mut self, width: u32, dark: bool) {
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if dark { "dark" } else { "light" };
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }))["result"]["value"]
            .clone()
    }

    /// Elements beyond the right edge at this width, in light or dark mode; empty if the page needs no horizontal scrolling.
    pub fn beyond(&mut self, width: u32, dark: bool) -> Vec<String> {
        self.as_on(width, dark);
        let mut wide = u64::MAX;
        // Charts adapt to the page's width a moment later.
        for _ in 0..30 {
            wide = self.value("document.documentElement.scrollWidth").as_u64().expect("a width");
            if wide <= u64::from(width) {
                return Vec::new();
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let output = "`${e.tagName}.${e.getAttribute('class')} ${e.textContent.slice(0, 60)}`";
        let far = format!("e.getBoundingClientRect().right > {width} && !e.closest('.scroll')");
        let found =
            self.value(&format!("[...document.body.querySelectorAll('*')].filter((e) => {far}).map((e) => {output})"));
        found
            .as_array()
            .expect("a list")
            .iter()
            .map(Value::to_string)
            .chain([format!("{wide} pixels at {width}")])
            .collect()
    }

    /// Waits until an expression in the page is true.
    pub fn until(&mut self, expression: &str) {
        let began = Instant::now();
        while self.value(expression) != Value::Bool(true) {
            assert!(
                began.elapsed() < PATIENCE,
                "{expression} is not true of {}: {}",
                self.value("location.href"),
                self.value("document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("chromium listens");
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).expect("chromium answers");
            bytes.pop();
            assert!(!bytes.is_empty(), "chromium is gone");
            let mut heard: Value = serde_json::from_slice(&bytes).expect("JSON");
            if heard["id"] == json!(self.number) {
                return heard["result"].take();
            }
            let wrong = heard["method"] == "Runtime.exceptionThrown"
                || (heard["method"] == "Log.entryAdded" && heard["params"]["entry"]["level"] == "error");
            if wrong {
                self.complaints.push(heard["params"].to_string());
            }
        }
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The visible text of a page, without its scripts.
fn without_scripts(page: &str) -> String {
    let mut parts = page.split("<script");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.filter_map(|part| part.split_once("</script>")).fold(first, |seen, (_, after)| seen + after)
}
