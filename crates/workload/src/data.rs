//! Contents of files: the words for them, and the options by which a user sets them for a whole workload.
//! In: a word such as `logs` or `70%`. Out: a [`Content`].
//! Every workload that lays out files has the options, unless it has an option or variable of the same name.

use crate::compile::Outcome;
use crate::error::Problem;
use crate::program::{Content, Pattern};
use crate::quantity::{Scope, Unit, evaluate};
use crate::scope::text;
use crate::syntax::{Field, RawOption, RawWorkload, Scalar};
use toml::Spanned;

/// Option for the contents of files.
const DATA: &str = "data";
/// Option for the share of duplicate blocks.
const DUPLICATE: &str = "duplicate";

/// Content by its word; a share in percent compresses to nothing, the rest is random.
pub(crate) fn content(field: &Field, scope: &Scope) -> Outcome<Content> {
    let word = text(field, scope)?;
    let pattern = |pattern| Content { pattern: Some(pattern), ..Content::default() };
    match word.as_str() {
        "incompressible" => Ok(Content::default()),
        "zeros" => Ok(Content { zeros: true, ..Content::default() }),
        "text" => Ok(pattern(Pattern::Text)),
        "logs" => Ok(pattern(Pattern::Logs)),
        share if share.ends_with('%') => match evaluate(share, Unit::Percent, scope)? {
            percent @ 0..=100 => Ok(Content { compressible_percent: percent as u8, ..Content::default() }),
            percent => {
                Err(Problem::new(format!("a compressible share of {percent} % is more than 100 %")).at(field.span()))
            }
        },
        other => {
            Err(Problem::unknown("content", other, &["incompressible", "zeros", "text", "logs", "50%"])
                .at(field.span()))
        }
    }
}

/// Adds the options `data` and `duplicate` to a workload with files; their default, empty, keeps the workload's own contents.
pub(crate) fn add_options(raw: &mut RawWorkload) {
    let taken = |name: &str| {
        raw.options.keys().any(|own| own.get_ref() == name) || raw.scales.values().any(|scale| scale.contains_key(name))
    };
    if raw.filesets.is_empty() || taken(DATA) || taken(DUPLICATE) {
        return;
    }
    let about = [
        (DATA, "content of files: incompressible, zeros, text, logs, or the compressible share, such as 70%"),
        (DUPLICATE, "share of duplicate 4 KiB blocks, for deduplication, such as 20%"),
    ];
    for (name, about) in about {
        let option =
            RawOption { about: about.to_owned(), default: Some(Scalar(String::new())), ..RawOption::default() };
        raw.options.insert(Spanned::new(0..0, name.to_owned()), option);
    }
    let value = |name: &str| Spanned::new(0..0, Scalar(format!("${name}")));
    for fileset in raw.filesets.iter_mut().filter(|fileset| fileset.copies.is_none()) {
        fileset.set = Some((value(DATA), value(DUPLICATE)));
    }
}
