//! Access control: requests need the token, this server's own host name, and no foreign origin.
//! In: the head of a request, the local address of its connection, the token. Out: what is requested, or the status of a refusal.

use crate::request::{self, Asked, Head};
use rustix::rand::{GetRandomFlags, getrandom};
use std::io;
use std::net::{IpAddr, SocketAddr};
use subtle::ConstantTimeEq;

/// Bytes of randomness in a token.
const STRENGTH: usize = 16;

/// A random token: 32 hexadecimal digits.
pub(crate) fn token() -> io::Result<String> {
    let mut bytes = [0u8; STRENGTH];
    let mut filled = 0;
    while filled < STRENGTH {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What a request to the local address `local` asks for.
///
/// # Errors
/// 403 for a host name that is not this server's, and for requests from foreign pages; 404 for a wrong token, so that the answer does not
/// differ from that for a missing page.
pub(crate) fn admitted(head: &Head, local: SocketAddr, token: &str) -> Result<Asked, u16> {
    let host = head.host.as_deref().filter(|host| is_this(host, local)).ok_or(403u16)?;
    if head.origin.as_ref().is_some_and(|origin| !origin.eq_ignore_ascii_case(&format!("http://{host}"))) {
        return Err(403);
    }
    if head.site.as_deref().is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(403);
    }
    let (shown, asked) = request::parted(&head.target).ok_or(404u16)?;
    // A constant-time comparison: its duration does not reveal where the two differ.
    let known = bool::from(shown.as_bytes().ct_eq(token.as_bytes()));
    if known { Ok(asked) } else { Err(404) }
}

/// Whether a Host header names this server: the local address of the connection, or `localhost` if that is a loopback address. Any other
/// name could belong to an attacker who made it resolve to this address (DNS rebinding).
fn is_this(host: &str, local: SocketAddr) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, "80"),
    };
    let digits = !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || port.parse() != Ok(local.port()) {
        return false;
    }
    let here = local.ip().to_canonical();
    if name.eq_ignore_ascii_case("localhost") {
        return here.is_loopback();
    }
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.parse::<IpAddr>().is_ok_and(|address| address.to_canonical() == here)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(host: &str, target: &str) -> Head {
        Head { headers_only: false, target: target.into(), host: Some(host.into()), origin: None, site: None }
    }

    #[test]
    fn only_its_own_names_are_this_server() {
        let local: SocketAddr = "127.0.0.1:8080".parse().expect("an address");
        for good in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080"] {
            assert!(is_this(good, local), "{good}");
        }
        for bad in [
            "evil.example:8080",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost",
            "127.0.0.1.evil.example:8080",
            "",
            ":8080",
            "10.0.0.1:8080",
            "localhost.:8080",
            "127.0.0.1:+8080",
            "user@127.0.0.1:8080",
            "127.1:8080",
            "[::1]:8080",
        ] {
            assert!(!is_this(bad, local), "{bad}");
        }
        let six: SocketAddr = "[::1]:80".parse().expect("an address");
        assert!(
            is_this("[::1]", six) && is_this("[::1]:80", six) && is_this("localhost", six) && !is_this("[::2]", six)
        );
        let lan: SocketAddr = "10.0.0.1:8080".parse().expect("an address");
        assert!(is_this("10.0.0.1:8080", lan) && !is_this("localhost:8080", lan));
    }

    #[test]
    fn pages_of_others_are_refused_and_a_wrong_token_is_nothing_there() {
        let local: SocketAddr = "127.0.0.1:8080".parse().expect("an address");
        let good = head("127.0.0.1:8080", "/secret/run");
        assert_eq!(admitted(&good, local, "secret").map(|asked| asked.page), Ok("run".into()));
        for (origin, site, status) in [
            (Some("http://evil.example"), None, Err(403)),
            (Some("null"), None, Err(403)),
            (Some("https://127.0.0.1:8080"), None, Err(403)),
            (Some("http://localhost:8080"), None, Err(403)),
            (None, Some("cross-site"), Err(403)),
            (None, Some("same-site"), Err(403)),
            (None, Some("none"), Ok(())),
            (Some("http://127.0.0.1:8080"), Some("same-origin"), Ok(())),
        ] {
            let head = Head { origin: origin.map(str::to_owned), site: site.map(str::to_owned), ..good.clone() };
            assert_eq!(admitted(&head, local, "secret").map(|_| ()), status, "{origin:?} {site:?}");
        }
        for target in
            ["/", "/secre/run", "/secret", "/secrett/run", "//run", "/SECRET/run", "http://127.0.0.1:8080/secret/run"]
        {
            assert_eq!(admitted(&head("127.0.0.1:8080", target), local, "secret"), Err(404), "{target}");
        }
        assert_eq!(admitted(&Head { host: None, ..good }, local, "secret"), Err(403));
    }

    #[test]
    fn tokens_are_long_and_never_the_same() {
        let (one, other) = (token().expect("a token"), token().expect("a token"));
        assert!(one != other && one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
