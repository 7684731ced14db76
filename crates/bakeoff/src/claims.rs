//! Published claims, from the compiled-in file or a user's file of the same form.
//! In: CSV with the columns of `published/claims.csv`. Out: [`Published`] claims, selected, planned for and tested against a run.

mod held;
mod planned;
mod subject;

pub use held::{Ground, held};
pub use planned::{Chosen, choose, obstacle};

pub use literature::{Clock, Published};

use crate::failure::Failure;
use judge::Claim;
use records::Contender;
use report::Material;
use std::collections::BTreeMap;
use std::path::Path;

const PUBLISHED: &str = include_str!("../published/claims.csv");
/// The file that `--claims=FILE` names; `None` for `published` or an empty value, which mean the published claims.
pub fn own(file: &Path) -> Option<&Path> {
    (file != Path::new("published")).then_some(file)
}

/// The published claims, or those of a user's file.
pub fn read(file: Option<&Path>) -> Result<Vec<Published>, Failure> {
    let Some(path) = file else { return Ok(literature::claims(PUBLISHED, "published/claims.csv")?) };
    let text = system::input::text_file(path, literature::TEXT_LIMIT as u64)
        .map_err(|why| Failure::new(format!("reading the claims {}: {why}", path.display())))?;
    Ok(literature::claims(&text, &path.display().to_string())?)
}

/// The name of a contender in claims: without a modelled disk, and an option set that runs in its nearest form by its own name.
pub fn called(asked: &Contender) -> String {
    let mut plain = asked.clone();
    if axes::value(asked, "disk").is_some() {
        plain = axes::without(&plain, "disk");
        plain.label = axes::label(&plain);
    }
    if let Some(form) = &asked.nearest {
        plain.base.clone_from(&form.of);
        plain.label = axes::label(&plain);
    }
    plain.label
}

/// Requested ages of the run's contenders, by label.
pub fn ages(material: &Material) -> BTreeMap<String, String> {
    let aged = material.contenders.iter().filter_map(|contender| {
        let (age, _) = contender.asked.as_ref()?.ageing()?;
        Some((contender.label.clone(), age.to_owned()))
    });
    aged.collect()
}

/// Contenders whose name in claims differs from their label, by label.
pub fn other_names(material: &Material) -> BTreeMap<String, String> {
    let asked = material.contenders.iter().filter_map(|contender| Some((&contender.label, contender.asked.as_ref()?)));
    let named = asked.map(|(label, asked)| (label.clone(), called(asked)));
    named.filter(|(label, called)| label != called).collect()
}

/// `xfs-flat` against `xfs-hashed`: one contender in two variants of an operation, (`xfs`, `flat`, `hashed`).
pub(crate) fn variants(claim: &Claim) -> Option<(&str, &str, &str)> {
    let (base, left) = claim.left.rsplit_once('-')?;
    let (other, right) = claim.right.rsplit_once('-')?;
    (base == other).then_some((base, left, right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_forms_of_a_directory_are_variants_of_one_contender() {
        let claims = literature::claims(PUBLISHED, "published/claims.csv").expect("they parse");
        let of = |id: &str| {
            claims.iter().find(|claim| claim.claim.id == id).and_then(|claim| variants(&claim.claim)).map(|v| v.0)
        };
        assert_eq!(of("flat-vs-hashed-directories"), Some("xfs"));
        assert_eq!(of("reread-xfs-ext4"), None);
    }
}
