//! What could not be shown, and why.
//! In: an error's sentence. Out: a page with it.

use maud::html;

/// A page that says in a sentence what could not be shown.
pub fn trouble(said: &str, top: &[(String, String)]) -> String {
    super::framed("Not shown", top, &html! { h1 { "This cannot be shown" } }, &html! { p.warn { (said) } })
}
