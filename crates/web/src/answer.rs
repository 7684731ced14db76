//! Answers: a page, a script, an event stream, or a refusal.
//! In: content from a site. Out: the bytes sent to the browser, with headers that allow it nothing but to show them.

/// Content security policy of a page: scripts of this server only, nothing from other hosts, no embedding in a frame.
const OWN_SCRIPTS: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// The same for a report, which contains its scripts and loads nothing.
const WITHIN: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A site's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub(crate) status: u16,
    kind: &'static str,
    policy: &'static str,
    pub(crate) body: Body,
    /// Whether this is the last page, which followers request after the last event.
    pub(crate) last: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Bytes(Vec<u8>),
    News,
}

impl Answer {
    fn new(status: u16, kind: &'static str, policy: &'static str, body: Body) -> Answer {
        Answer { status, kind, policy, body, last: false }
    }

    /// A page. It may run scripts served by this site, but no inline scripts.
    pub fn page(html: String) -> Answer {
        Answer::new(200, "text/html; charset=utf-8", OWN_SCRIPTS, Body::Bytes(html.into_bytes()))
    }

    /// A self-contained page: its scripts are inline, and it loads nothing.
    pub fn standing_alone(html: String) -> Answer {
        Answer::new(200, "text/html; charset=utf-8", WITHIN, Body::Bytes(html.into_bytes()))
    }

    /// A script for pages of this site.
    pub fn script(text: &str) -> Answer {
        Answer::new(200, "text/javascript; charset=utf-8", OWN_SCRIPTS, Body::Bytes(text.into()))
    }

    /// The event stream (server-sent events).
    pub fn news() -> Answer {
        Answer::new(200, "text/event-stream", OWN_SCRIPTS, Body::News)
    }

    /// There is no page of this name.
    pub fn nothing_there() -> Answer {
        Answer::refusal(404)
    }

    /// The same page with another status, such as 404 for an unknown run.
    pub fn with_status(self, status: u16) -> Answer {
        Answer { status, ..self }
    }

    /// Marks the page that followers request after the last event: the server waits until they have received it.
    pub fn at_the_end(self) -> Answer {
        Answer { last: true, ..self }
    }

    /// A refusal with an explanation.
    pub(crate) fn refusal(status: u16) -> Answer {
        let text = match status {
            403 => "Refused: the token is missing or wrong. Open the address exactly as it was printed.\n",
            404 => "There is no such page.\n",
            405 => "This server accepts only GET and HEAD.\n",
            408 => "The request took too long.\n",
            431 => "The request is too long.\n",
            503 => "Too many connections already follow this page.\n",
            _ => "The request is invalid.\n",
        };
        Answer::new(status, "text/plain; charset=utf-8", OWN_SCRIPTS, Body::Bytes(text.into()))
    }

    /// Status line and headers, and the body unless only headers were requested.
    pub(crate) fn bytes(&self, headers_only: bool) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Security-Policy: {}\r\nX-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\nCache-Control: no-store\r\nConnection: close\r\n",
            self.status,
            reason(self.status),
            self.kind,
            self.policy
        );
        if self.status == 405 {
            head.push_str("Allow: GET, HEAD\r\n");
        }
        let Body::Bytes(body) = &self.body else { return (head + "\r\n").into_bytes() };
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        let mut bytes = head.into_bytes();
        if !headers_only {
            bytes.extend_from_slice(body);
        }
        bytes
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        500 => "Internal Server Error",
        _ => "Bad Request",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_guarded_and_allows_no_other_origin() {
        for answer in [Answer::page("x".into()), Answer::script("x"), Answer::news(), Answer::refusal(404)] {
            let text = String::from_utf8(answer.bytes(false)).expect("text");
            for header in [
                "nosniff",
                "no-referrer",
                "default-src 'none'",
                "frame-ancestors 'none'",
                "no-store",
                "Connection: close",
            ] {
                assert!(text.contains(header), "{header}: {text}");
            }
            assert!(!text.to_lowercase().contains("access-control"), "{text}");
        }
        let bare = String::from_utf8(Answer::page("body".into()).bytes(true)).expect("text");
        assert!(bare.contains("Content-Length: 4") && bare.ends_with("\r\n\r\n"), "{bare}");
    }
}
