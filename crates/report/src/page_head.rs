//! The head that all pages share.
//! In: a title and what differs from page to page. Out: markup.

use maud::{Markup, PreEscaped, html};

/// The head of a page, made by `version` of this program. `policy`: what the page may load, if no server sends a policy.
pub(crate) fn page_head(title: &str, version: &str, policy: Option<&str>, styles: &[&str], more: &Markup) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="generator" content={ "Bakeoff " (version) };
            @if let Some(policy) = policy { meta http-equiv="Content-Security-Policy" content=(policy); }
            title { (title) }
            link rel="icon" href="data:,";
            style { @for style in styles { (PreEscaped(style)) } }
            (more)
        }
    }
}
