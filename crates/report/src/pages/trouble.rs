//! The page for something that could not be shown, with the reason.
//! In: an error's sentence. Out: a page with it.

use maud::html;

/// A page with a sentence about what could not be shown.
pub fn trouble(note: &str, top: &[(String, String)]) -> String {
    super::framed("Not shown", top, &html! { h1 { "This cannot be shown" } }, &html! { p.warn { (note) } })
}
