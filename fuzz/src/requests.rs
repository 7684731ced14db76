//! Requests of anybody to the server of pages.
//! In: bytes as they come in. Out: nothing; what is answered has the token, names a page and nothing else, and brings text.

use web::{LONGEST_REQUEST, asked};

/// The token of these requests, and where they come in.
const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const AT: &str = "127.0.0.1:8080";

/// The head of a request, or a part of it.
pub fn head(data: &[u8]) {
    match asked(data, AT.parse().expect("an address"), TOKEN) {
        Ok(None) => assert!(data.len() < LONGEST_REQUEST, "a request that is too long is not waited for"),
        Err(status) => assert!([400, 403, 404, 405, 431].contains(&status), "{status}"),
        Ok(Some(found)) => {
            assert!(data.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes()), "nobody gets in without the token");
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
            assert!(
                found.page.bytes().all(plain) && !found.page.starts_with('.'),
                "{} is no name of a page",
                found.page
            );
            let text = |text: &String| !text.chars().any(char::is_control);
            assert!(found.query.iter().all(|(name, value)| text(name) && text(value)), "{:?} is no text", found.query);
        }
    }
}
