//! Pages for browsing a ledger: its runs, two of them side by side, and the evidence of a figure.
//! In: lines that are ready to be shown. Out: HTML without a script; the library escapes all external text.
//! The page of a run is that of its report ([`crate::html`]), with links to these.

mod compared;
mod runs;
mod trouble;
mod why;

pub use compared::{CompareChoice, Compared, Line, Section, compared};
pub use runs::{RunLine, Runs, runs};
pub use trouble::trouble;
pub use why::{WhyPage, why};

use crate::page_head::page_head;
use maud::{DOCTYPE, Markup, html};

const STYLE: &str = include_str!("../assets/page.css");
const OWN_STYLE: &str = include_str!("../assets/pages.css");

/// A text within the query of an address: every character but letters, digits and `-._~` is encoded (RFC 3986, section 2.3).
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// The navigation links: addresses and their texts.
pub(crate) fn way(links: &[(String, String)]) -> Markup {
    html! {
        @if !links.is_empty() {
            nav.way aria-label="Ledger" { @for (address, words) in links { a href=(address) { (words) } " " } }
        }
    }
}

/// A page of this kind.
fn framed(title: &str, top: &[(String, String)], heading: &Markup, main: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (page_head(title, env!("CARGO_PKG_VERSION"), None, &[STYLE, OWN_STYLE], &html! {}))
            body.plainly {
                header.top { (way(top)) (heading) }
                main { (main) }
                footer { p { "Shown by Bakeoff " (env!("CARGO_PKG_VERSION")) ", read only." } }
            }
        }
    };
    page.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_could_end_a_query_are_encoded() {
        assert_eq!(
            encoded("small-files/create:cold/ext4 -O ^x&y=\"é\""),
            "small-files%2Fcreate%3Acold%2Fext4%20-O%20%5Ex%26y%3D%22%C3%A9%22"
        );
    }
}
