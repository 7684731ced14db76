//! Requests: the head is parsed by a library and checked against limits.
//! In: untrusted bytes. Out: a [`Head`], or the status of a refusal.

use crate::{LONGEST_REQUEST, MOST_HEADERS};

/// Most characters of a page's name.
const LONGEST_NAME: usize = 32;
/// Most pairs of a query.
const MOST_PAIRS: usize = 16;

/// What a request with a valid token asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// The name of the page, which follows the token: lower case letters, digits, dashes and dots; empty for the first page. A single name,
    /// never a path.
    pub page: String,
    /// Pairs of the query, decoded, in their order.
    pub query: Vec<(String, String)>,
}

impl Asked {
    /// The first nonempty value of this name.
    pub fn value(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }
}

/// The parts of a request's head that the server uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// Whether the method is HEAD, so that the answer has no body.
    pub headers_only: bool,
    /// Path and query as received.
    pub target: String,
    pub host: Option<String>,
    pub origin: Option<String>,
    /// The header Sec-Fetch-Site.
    pub site: Option<String>,
}

/// What the bytes received so far are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// An incomplete head.
    More,
    /// A complete head.
    Whole(Head),
    /// An invalid or unsupported request, and the status of the refusal.
    Refused(u16),
}

/// Reads the head of a request.
pub(crate) fn read(bytes: &[u8]) -> Reading {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => taken(&request).map_or_else(Reading::Refused, Reading::Whole),
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST_REQUEST => Reading::More,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => Reading::Refused(431),
        Err(_) => Reading::Refused(400),
    }
}

fn taken(request: &httparse::Request) -> Result<Head, u16> {
    let headers_only = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(405),
    };
    // Bodies are not accepted, so that none can be mistaken for a second request.
    let body = one(request, "content-length")?.is_some_and(|length| length != "0");
    if body || one(request, "transfer-encoding")?.is_some() {
        return Err(400);
    }
    Ok(Head {
        headers_only,
        target: request.path.ok_or(400u16)?.into(),
        host: one(request, "host")?,
        origin: one(request, "origin")?,
        site: one(request, "sec-fetch-site")?,
    })
}

/// The value of a header that may occur once.
fn one(request: &httparse::Request, name: &str) -> Result<Option<String>, u16> {
    let mut found = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    let Some(first) = found.next() else { return Ok(None) };
    if found.next().is_some() {
        return Err(400);
    }
    let value = std::str::from_utf8(first.value).map_err(|_| 400u16)?;
    Ok(Some(value.trim().to_owned()))
}

/// Token and page of a target; `None` unless the target has the form `/TOKEN/page?query`.
pub(crate) fn parted(target: &str) -> Option<(&str, Asked)> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (token, page) = path.strip_prefix('/')?.split_once('/')?;
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter);
    if page.len() > LONGEST_NAME || page.starts_with('.') || !page.chars().all(plain) {
        return None;
    }
    let pairs: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    if pairs.len() > MOST_PAIRS {
        return None;
    }
    let pairs = pairs.into_iter().map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decoded(name)?, decoded(value)?))
    });
    Some((token, Asked { page: page.into(), query: pairs.collect::<Option<_>>()? }))
}

/// Decodes a part of a query; `None` if it is not plain text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| (byte as char).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.chars().any(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_whole_or_refused() {
        let whole = read(b"GET /t/run?id=1 HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://localhost:1\r\n\r\n");
        let Reading::Whole(head) = whole else { panic!("{whole:?}") };
        assert_eq!((head.target.as_str(), head.host.as_deref()), ("/t/run?id=1", Some("localhost:1")));
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost: a"), Reading::More);
        for (text, status) in [
            ("POST / HTTP/1.1\r\n\r\n", 405),
            ("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("\0\0\0\0\r\n\r\n", 400),
        ] {
            assert_eq!(read(text.as_bytes()), Reading::Refused(status), "{text:?}");
        }
        let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(LONGEST_REQUEST));
        assert_eq!(read(long.as_bytes()), Reading::Refused(431));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: x\r\n".repeat(MOST_HEADERS + 1));
        assert_eq!(read(many.as_bytes()), Reading::Refused(431));
    }

    #[test]
    fn a_page_is_one_name_and_its_query_is_text() {
        let (token, asked) = parted("/abc/why?run=1&cell=small%2Dfiles/create+x").expect("a page");
        assert_eq!((token, asked.page.as_str()), ("abc", "why"));
        assert_eq!(asked.value("cell"), Some("small-files/create x"));
        assert_eq!(asked.value("none"), None);
        for odd in [
            "abc",
            "/abc",
            "/abc/../x",
            "/abc/..",
            "/abc/a/b",
            "/abc/%2e%2e",
            "/abc/x?a=%0a",
            "/abc/x?a=%ff",
            "/abc/x?a=%",
        ] {
            assert_eq!(parted(odd), None, "{odd}");
        }
        assert_eq!(parted(&format!("/abc/x?{}", "a=1&".repeat(MOST_PAIRS + 1))), None);
    }
}
