//! `bakeoff serve` under attack: a client with the full URL gets pages, any other gets nothing.

mod made;
mod support;

use made::Made;
use prerequisites::needs;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use support::browser::{Browser, Server, Tab};
use support::{Place, Printed};

/// A ledger with two runs, the second with a slower xfs.
fn ledger() -> (Place, String, String) {
    let place = Place::new();
    let path = place.path("bakeoff.db");
    let one = made::keep(&path, &[Made::of("ext4", 1.0), Made::of("xfs", 2.0)], 5);
    let two = made::keep(&path, &[Made::of("ext4", 1.0), Made::of("xfs", 3.0)], 5);
    (place, one, two)
}

/// The text of a page: words separated by single spaces, without markup.
fn words(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html.split_once("</style>").map_or(html, |(_, after)| after);
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        rest = after.split_once('>').map_or("", |(_, after)| after);
    }
    let text = (text + rest).replace("&amp;", "&").replace("&gt;", ">").replace("&lt;", "<").replace("&quot;", "\"");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn plain(output: &Printed) -> String {
    output.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_list_of_runs_is_searched_and_leads_to_each() {
    let (place, one, two) = ledger();
    let server = Server::start(&place, "serve");
    let all = server.page("");
    for id in [&one, &two] {
        assert!(all.contains(&format!("href=\"run?id={id}\"")), "{all}");
    }
    assert!(words(&all).contains("2 runs"), "{}", words(&all));
    let found = server.page(&format!("?q={one}+made"));
    assert!(found.contains(&one) && !found.contains(&two), "{found}");
    let none = words(&server.page("?q=nowhere%20%3Cscript%3E"));
    assert!(none.contains("No run matches all of these words.") && none.contains("“nowhere <script>”"), "{none}");
    let run = server.page(&format!("run?id={one}"));
    assert!(run.contains("id=\"overview\"") && run.contains("All runs"), "the report's own page");
    assert!(run.contains(&format!("why?run={one}&amp;cell=small-files%2Fcreate")), "figures lead to their samples");
    assert_eq!(server.ask("run?id=nosuchrun").status, 404);
    assert!(words(&server.ask("run?id=nosuchrun").body).contains("nosuchrun"));
}

#[test]
fn a_figure_is_explained_down_to_its_samples_as_in_the_terminal() {
    let (place, _, two) = ledger();
    let server = Server::start(&place, "serve");
    let page = words(&server.page(&format!("why?run={two}&cell=small-files/create/xfs")));
    let printed = place.bakeoff("show --why small-files/create/xfs").well();
    // Above the table there are sentences, whose continuation lines are indented.
    let above = printed.out.lines().take_while(|line| !line.contains("───") && !line.contains("---"));
    let mut sentences: Vec<String> = Vec::new();
    for line in above {
        match sentences.last_mut().filter(|_| line.starts_with("  ")) {
            Some(last) => *last += &format!(" {}", line.trim()),
            None => sentences.push(line.trim().to_owned()),
        }
    }
    assert!(sentences.len() > 3 && sentences.iter().any(|output| output.contains("slower than ext4")), "{sentences:?}");
    for sentence in &sentences {
        assert!(page.contains(sentence.as_str()), "{sentence:?} is missing: {page}");
    }
    let raw = server.page(&format!("why?run={two}&cell=small-files/create/xfs"));
    assert_eq!(raw.matches("<circle").count(), 5, "a mark for each block: {raw}");
    assert_eq!(raw.matches("<tr>").count(), 6, "a line for each block, and headings");
    assert!(raw.contains("cell=small-files%2Fcreate%2Fext4"), "the other contender is one step away");
    let refused = server.ask(&format!("why?run={two}&cell=small-files/nothing/xfs"));
    assert_eq!(refused.status, 404);
    assert!(words(&refused.body).contains("small-files has the operations"), "{}", refused.body);
}

#[test]
fn two_sides_are_compared_as_in_the_terminal() {
    let (place, one, two) = ledger();
    let server = Server::start(&place, "serve");
    for (a, b) in [(one.clone(), two.clone()), (format!("{two}:ext4"), format!("{two}:xfs"))] {
        let output = plain(&place.bakeoff(&format!("compare {a} {b}")).well());
        let at = output.find("Switching ").expect("a sentence");
        let sentence = &output[at..];
        let page = words(&server.page(&format!("compare?a={a}&b={b}")));
        assert!(page.contains(sentence.split(" Not compared").next().expect("one")), "{sentence}\n{page}");
        assert!(page.contains("WORSE") && page.contains("B slower"), "{page}");
    }
    assert_eq!(server.ask(&format!("compare?a={one}")).status, 404);
    let mixed = server.ask(&format!("compare?a={one}&b={two}:xfs"));
    assert!(words(&mixed.body).contains("name two runs or two contenders"), "{}", mixed.body);
}

#[test]
fn pages_open_in_a_browser_without_a_complaint() {
    needs!(chromium);
    let (place, one, two) = ledger();
    let server = Server::start(&place, "serve");
    let browser = Browser::new(&place);
    let mut tab = Tab::open(&place, &server.url);
    for (page, has) in [
        (String::new(), "Compare A with B"),
        (format!("run?id={two}"), "<svg"),
        (format!("why?run={two}&cell=small-files/create/xfs"), "<circle"),
        (format!("compare?a={one}&b={two}"), "B slower"),
    ] {
        let shown = browser.opened(&server.way(&page));
        assert!(shown.contains(has), "{page}: {shown}");
        tab.go(&server.way(&page));
        for (width, dark) in [(390, true), (390, false), (1200, true)] {
            assert_eq!(tab.beyond(width, dark), Vec::<String>::new(), "{page}: something is cut off");
        }
    }
    // By its own buttons and links: from the list to a comparison, from there to a figure.
    tab.go(&server.url);
    tab.value("document.querySelector('.act button').click()");
    tab.until("location.pathname.endsWith('/compare') && document.querySelector('td a.why') !== null");
    tab.value("document.querySelector('td a.why').click()");
    tab.until("location.pathname.endsWith('/why') && document.querySelector('svg.samples') !== null");
    assert_eq!(tab.complaints, Vec::<String>::new());
}

#[test]
fn without_the_token_there_is_nothing() {
    let (place, one, _) = ledger();
    let server = Server::start(&place, "serve");
    let token = server.token();
    let almost = format!("{}{}", &token[..31], if token.ends_with('0') { '1' } else { '0' });
    let targets = [
        "/".into(),
        "/run".into(),
        format!("/{}/", almost),
        format!("/{}/", &token[..31]),
        format!("/{token}0/"),
        format!("/{}/", "0".repeat(32)),
        format!("/{}/run?id={one}", almost),
        format!("/?{token}"),
        "/favicon.ico".into(),
    ];
    let answers: Vec<_> = targets.iter().map(|target| server.ask_target(target)).collect();
    for (target, answer) in targets.iter().zip(&answers) {
        assert_eq!((answer.status, answer.body.as_str()), (404, "There is no such page.\n"), "{target}");
        assert!(!answer.head.contains(token) && !answer.head.contains("bakeoff"), "{}", answer.head);
    }
    assert_eq!(server.ask("").status, 200);
}

#[test]
fn other_origins_and_other_names_get_nothing() {
    let (place, _, _) = ledger();
    let server = Server::start(&place, "serve");
    let port = server.address.port();
    let good = format!("127.0.0.1:{port}");
    let asked = |headers: &str| server.ask_with(&format!("/{}/", server.token()), headers).status;
    assert_eq!(asked(&format!("Host: {good}")), 200);
    assert_eq!(asked(&format!("Host: localhost:{port}")), 200);
    assert_eq!(asked(&format!("Host: {good}\r\nOrigin: http://{good}\r\nSec-Fetch-Site: same-origin")), 200);
    // An attacker's name that resolves to this machine, and names similar to this server's own.
    for host in [
        "evil.example",
        "127.0.0.2",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "0.0.0.0",
        "[::1]",
        "a@127.0.0.1",
    ] {
        assert_eq!(asked(&format!("Host: {host}:{port}")), 403, "{host}");
    }
    for headers in ["X: y".to_owned(), "Host: 127.0.0.1".to_owned(), format!("Host: 127.0.0.1:{}", port ^ 1)] {
        assert_eq!(asked(&headers), 403, "{headers}");
    }
    assert_eq!(asked(&format!("Host: {good}\r\nHost: {good}")), 400);
    for from in [
        "Origin: http://evil.example",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
        "Origin: http://127.0.0.1:1",
    ] {
        let answer = server.ask_with(&format!("/{}/", server.token()), &format!("Host: {good}\r\n{from}"));
        assert_eq!(answer.status, 403, "{from}");
        assert!(!answer.head.to_lowercase().contains("access-control"), "{}", answer.head);
        assert!(!answer.body.contains("ext4"), "{}", answer.body);
    }
}

#[test]
fn every_answer_forbids_what_a_page_does_not_need() {
    let (place, _, two) = ledger();
    let server = Server::start(&place, "serve");
    let pages = [
        "".to_owned(),
        format!("run?id={two}"),
        format!("why?run={two}&cell=small-files/create/xfs"),
        "nothing".into(),
    ];
    for answer in pages.iter().map(|page| server.ask(page)).chain([server.ask_target("/")]) {
        let head = answer.head.to_lowercase();
        for header in [
            "content-security-policy: default-src 'none'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(header), "{header}: {head}");
        }
        assert!(!head.contains("access-control-allow") && !head.contains("set-cookie"), "{head}");
    }
}

#[test]
fn no_path_leads_out_and_nothing_can_be_changed() {
    let (place, _, _) = ledger();
    place.write("secret.txt", "secret");
    let before = std::fs::read(place.path("bakeoff.db")).expect("the ledger");
    let server = Server::start(&place, "serve");
    let token = server.token();
    for page in [
        "../secret.txt",
        "..%2fsecret.txt",
        "%2e%2e/secret.txt",
        "./secret.txt",
        "secret.txt",
        "/etc/passwd",
        "..",
        "run/../secret.txt",
        "..\\secret.txt",
        "run%00",
        ".bakeoff.db",
        "bakeoff.db",
    ] {
        let answer = server.ask_target(&format!("/{token}/{page}"));
        assert!(matches!(answer.status, 400 | 404), "{page}: {}", answer.status);
        assert!(!answer.body.contains("secret") && !answer.body.contains("root:"), "{page}: {}", answer.body);
    }
    for id in ["../bakeoff", "/etc/passwd", "%2e%2e%2fsecret.txt", "20%"] {
        assert!(matches!(server.ask(&format!("run?id={id}")).status, 404), "{id}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"] {
        let request = format!("{method} /{token}/ HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
        assert_eq!(server.send(request.as_bytes()).status, 405, "{method}");
    }
    let body = format!("GET /{token}/ HTTP/1.1\r\nHost: {}\r\nContent-Length: 9\r\n\r\nGET / HTT", server.address);
    assert_eq!(server.send(body.as_bytes()).status, 400);
    assert_eq!(std::fs::read(place.path("bakeoff.db")).expect("the ledger"), before, "it is as it was");
}

#[test]
fn an_overlong_or_invalid_request_is_refused_and_costs_little() {
    let (place, _, _) = ledger();
    let server = Server::start(&place, "serve");
    let before = server.memory();
    let long = "x".repeat(1 << 20);
    let host = format!("Host: {}", server.address);
    let requests = [
        format!("GET /{}/ HTTP/1.1\r\n{host}\r\nX: {long}\r\n\r\n", server.token()),
        format!("GET /{}/?q={long} HTTP/1.1\r\n{host}\r\n\r\n", server.token()),
        format!("GET /{}/ HTTP/1.1\r\n{host}\r\n{}\r\n", server.token(), "X: y\r\n".repeat(1 << 17)),
    ];
    for request in &requests {
        // The server may close the connection while the request is still being written.
        let answer = server.try_send(request.as_bytes());
        assert!(answer.is_none_or(|answer| answer.status == 431), "{}", &request[..60]);
    }
    for odd in [
        &b"\0\xff\xfe\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ] {
        assert_eq!(server.send(odd).status, 400, "{odd:?}");
    }
    assert_eq!(server.ask("").status, 200);
    let grown = server.memory().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes more than before");
}

/// A thousand connections that send a byte now and then: a client with the URL still gets the page, and the server closes them.
#[test]
fn a_thousand_slow_connections_do_not_block_other_clients() {
    let all = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: all.maximum, ..all }).expect("more descriptors");
    let (place, _, _) = ledger();
    let server = Server::start(&place, "serve");
    let mut slow: Vec<TcpStream> = (0..1000).filter_map(|_| slow_one(server.address)).collect();
    assert!(slow.len() > 900, "{} connections were made", slow.len());
    for _ in 0..5 {
        assert_eq!(server.ask("").status, 200);
        slow.iter_mut().for_each(|one| drop(one.write_all(b"x")));
    }
    assert!(server.descriptors() < 120, "{} descriptors are open", server.descriptors());
    let used = server.cpu();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(6) {
        std::thread::sleep(Duration::from_millis(500));
        slow.iter_mut().for_each(|one| drop(one.write_all(b"x")));
    }
    let share = (server.cpu() - used).as_secs_f64() / began.elapsed().as_secs_f64();
    assert!(share < 0.5, "{:.0} % of a processor", share * 100.0);
    let open = slow
        .iter_mut()
        .filter_map(|one| one.read(&mut [0u8; 512]).err())
        .filter(|why| why.kind() == std::io::ErrorKind::WouldBlock);
    assert_eq!(open.count(), 0, "after six seconds none of them is open");
    assert_eq!(server.ask("").status, 200);
}

fn slow_one(address: SocketAddr) -> Option<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok()?;
    stream.write_all(b"GET / HTTP/1.1\r\nX: ").ok()?;
    stream.set_nonblocking(true).ok()?;
    Some(stream)
}

#[test]
fn a_server_that_cannot_start_ends_with_one_sentence() {
    let place = Place::new();
    place.bakeoff("serve").refused(&["bakeoff.db"]);
    made::keep(&place.path("bakeoff.db"), &[Made::of("ext4", 1.0)], 1);
    place.bakeoff("serve --address nowhere").refused(&["nowhere", "--address"]);
    let server = Server::start(&place, "serve");
    place.bakeoff(&format!("serve --address {}", server.address)).refused(&["listening on", "127.0.0.1:0"]);
}
