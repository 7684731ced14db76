//! A server of this program, asked as a browser or an attacker would; and a headless browser.

use super::Place;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A program that serves pages, ended when this is dropped.
pub struct Server {
    pub child: Child,
    pub address: SocketAddr,
    pub url: String,
}

/// An answer, taken apart.
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

    /// A program that serves at an address it has printed.
    pub fn at(child: Child, url: &str) -> Server {
        let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("an address: {url:?}"));
        let address = rest.split('/').next().unwrap_or_default().parse().expect("an address with its port");
        Server { child, address, url: url.to_owned() }
    }

    pub fn token(&self) -> &str {
        self.url.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
    }

    /// The address of a page.
    pub fn way(&self, page: &str) -> String {
        format!("{}{page}", self.url)
    }

    /// A page that must be there.
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

    /// What is answered, if the connection lives that long.
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

    /// Bytes of memory that the program holds.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).expect("a number") << 10
    }

    /// CPU time that the program has taken.
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

/// A headless browser with a profile of its own.
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

    /// What a person sees of a page that is whole at once; the browser must not complain.
    pub fn opened(&self, url: &str) -> String {
        self.dumped(url, &["--virtual-time-budget=5000"])
    }

    /// What a person sees of a page after this time.
    pub fn after(&self, url: &str, time: Duration) -> String {
        self.dumped(url, &[&format!("--timeout={}", time.as_millis())])
    }

    fn dumped(&self, url: &str, more: &[&str]) -> String {
        let output = self.command().args(more).args(["--dump-dom", url]).output().expect("chromium runs");
        let log = String::from_utf8_lossy(&output.stderr);
        let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert_eq!(complaints, Vec::<&str>::new(), "{url}");
        without_scripts(&String::from_utf8_lossy(&output.stdout))
    }
}

/// What a person sees of a page: the words of its programs are not among it.
fn without_scripts(page: &str) -> String {
    let mut parts = page.split("<script");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.filter_map(|part| part.split_once("</script>")).fold(first, |seen, (_, after)| seen + after)
}
