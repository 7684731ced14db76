//! Features of the run's filesystems, as probed when the run began.
//! In: a view. Out: a table, questions as lines, each answer with a collapsed list of what was tried.

use crate::view::View;
use maud::{Markup, html};
use records::feature::Probed;

/// The section; empty if features were not probed.
pub(super) fn features(view: &View) -> Markup {
    let probed = &view.run.features;
    let Some(first) = probed.first() else { return html! {} };
    let content = html! {
        p.quiet { "Tested when the run began, on fresh images with each filesystem's own defaults; nothing comes from documentation." }
        div.scroll tabindex="0" role="region" aria-label="Features of the filesystems" { table {
            thead { tr { th scope="col" { "Question" } @for one in probed { th scope="col" { (one.heading()) } } } }
            tbody { @for question in &first.features { tr {
                th scope="row" { (question.title) }
                @for one in probed { td { (one.answer(&question.key).map_or("?", |answer| answer.text.as_str())) } }
            } } }
        } }
        details { summary { "Tests and their results" } @for one in probed { (how(one)) } }
    };
    super::folded("features", "Features of the filesystems", &content)
}

fn how(one: &Probed) -> Markup {
    html! {
        h3 { (one.heading()) }
        dl { @for feature in &one.features {
            dt { (feature.title) ": " (feature.answer.text) }
            dd { (feature.answer.how) }
        } }
    }
}
