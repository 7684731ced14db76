//! Programs of the user's own, from a workload file, and the figures that they print.
//! In: [`RawWork`] and variables; what a program printed. Out: a [`Command`], whole: words, environment, user; numbers.
//! No shell reads the words, and nothing of the caller's environment comes through, so that a run can be repeated.

use crate::compile::Outcome;
use crate::error::Problem;
use crate::program::{Command, OwnFigure};
use crate::quantity::Scope;
use crate::scope::text;
use crate::syntax::{RawOwnFigure, RawWork, Scalar};
use regex::Regex;
use std::collections::BTreeMap;
use toml::Spanned;

/// Where programs are looked for, unless the environment says otherwise.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Words of one command.
const WORDS_LIMIT: usize = 4096;
/// Bytes of the words and the environment of one command together: what execve(2) takes of one word.
const BYTES_LIMIT: usize = 128 << 10;

/// The command that work consists of; None where it is work of another kind.
pub(crate) fn command(work: &RawWork, scope: &Scope) -> Outcome<Option<Command>> {
    let (words, place) = match (&work.command, &work.shell) {
        (None, None) => return belongs_to_commands(work).map(|()| None),
        (Some(words), None) => {
            let each = words.get_ref().iter().map(|word| known(word, words.span(), scope));
            (each.collect::<Outcome<Vec<_>>>()?, words.span())
        }
        (None, Some(line)) => (vec!["sh".into(), "-c".into(), line.get_ref().0.clone()], line.span()),
        (Some(_), Some(line)) => {
            return Err(Problem::new("`command` and `shell` say what is run, both").at(line.span()));
        }
    };
    if let Some(step) = work.steps.first() {
        return Err(Problem::new("a command has no steps").help("leave out `steps`").at(step.span()));
    }
    let mut environment: BTreeMap<String, String> =
        [("PATH", PATH), ("LANG", "C.UTF-8"), ("TZ", "UTC")].map(|(name, value)| (name.into(), value.into())).into();
    for (name, value) in &work.environment {
        environment.insert(name.clone(), known(value.get_ref(), value.span(), scope)?);
    }
    let user = work.user.as_ref().map(|user| text(user, scope)).transpose()?;
    let command = Command { words, environment, user, figures: Vec::new() };
    sound(&command).map_err(|problem| problem.at(place))?;
    Ok(Some(command))
}

fn belongs_to_commands(work: &RawWork) -> Outcome<()> {
    let stray = work.environment.values().next().map(|value| ("environment", value));
    match stray.or(work.user.as_ref().map(|user| ("user", user))) {
        Some((key, field)) => {
            Err(Problem::new(format!("`{key}` is for work that runs a `command` or a `shell`")).at(field.span()))
        }
        None => Ok(()),
    }
}

/// A word that is `$` and the name of a variable stands for its value; any other stands for itself.
fn known(word: &Scalar, place: std::ops::Range<usize>, scope: &Scope) -> Outcome<String> {
    match word.0.strip_prefix('$').is_some_and(|name| scope.contains_key(name)) {
        true => text(&Spanned::new(place, word.clone()), scope),
        false => Ok(word.0.clone()),
    }
}

fn sound(command: &Command) -> Outcome<()> {
    let Command { words, environment, user, figures: _ } = command;
    if words.first().is_none_or(String::is_empty) {
        return Err(Problem::new("a command without a program").help("write `command = [\"tar\", \"xf\", ...]`"));
    }
    let texts = || words.iter().chain(environment.keys()).chain(environment.values()).chain(user);
    let bytes: usize = texts().map(|text| text.len() + 1).sum();
    if words.len() > WORDS_LIMIT || bytes > BYTES_LIMIT {
        return Err(Problem::new(format!(
            "a command of {} words, with its environment {bytes} bytes; the limits are {WORDS_LIMIT} and {BYTES_LIMIT}",
            words.len()
        )));
    }
    if texts().any(|text| text.contains('\0')) {
        return Err(Problem::new("a command cannot hold the character 0"));
    }
    match environment.keys().find(|name| name.is_empty() || name.contains('=')) {
        Some(name) => Err(Problem::new(format!("`{name}` cannot be the name of an environment variable"))),
        None => Ok(()),
    }
}

/// Figures that one command may print.
const FIGURES_LIMIT: usize = 32;
/// Letters of one pattern.
const PATTERN_LIMIT: usize = 1000;

/// The figures that a phase's programs print, checked.
pub(crate) fn figures(raw: &[RawOwnFigure]) -> Outcome<Vec<OwnFigure>> {
    if raw.len() > FIGURES_LIMIT {
        return Err(Problem::new(format!("{} figures of one command; the limit is {FIGURES_LIMIT}", raw.len())));
    }
    let mut figures: Vec<OwnFigure> = Vec::new();
    for one in raw {
        let name = one.name.clone().or(one.unit.clone()).unwrap_or_else(|| "figure".into());
        let more_is_better = match one.better.as_ref().map(|word| word.0.as_str()) {
            Some("more") => true,
            Some("less") => false,
            _ => {
                return Err(Problem::new(format!("the figure `{name}` does not say which way is better"))
                    .help("write `better = \"more\"` or `better = \"less\"`"));
            }
        };
        let unit = one.unit.clone().unwrap_or_default();
        if figures.iter().any(|other| other.name == name) {
            return Err(Problem::new(format!("two figures are called `{name}`")).help("give each a `name`"));
        }
        let figure = OwnFigure { name, from: one.from.clone(), unit, more_is_better };
        if figure.pointer().is_none() {
            pattern(&figure).map_err(Problem::new)?;
        }
        figures.push(figure);
    }
    Ok(figures)
}

fn pattern(figure: &OwnFigure) -> Result<Regex, String> {
    let from = &figure.from;
    if from.len() > PATTERN_LIMIT {
        return Err(format!("the pattern of figure `{}` has more than {PATTERN_LIMIT} letters", figure.name));
    }
    Regex::new(from).map_err(|error| format!("`{from}` is no regular expression: {error}"))
}

/// A figure in what a program printed.
///
/// # Errors
/// It is not there, or no number; in a sentence.
pub fn printed(figure: &OwnFigure, output: &str) -> Result<f64, String> {
    let OwnFigure { name, from, .. } = figure;
    let number = match figure.pointer() {
        Some(pointer) => {
            let json: serde_json::Value = serde_json::from_str(output.trim())
                .map_err(|error| format!("figure `{name}` is to be at {from}, but the output is no JSON: {error}"))?;
            let found = json
                .pointer(pointer)
                .ok_or_else(|| format!("figure `{name}`: there is nothing at {from} in the output"))?;
            found.as_f64().or_else(|| found.as_str()?.parse().ok())
        }
        None => {
            let pattern = pattern(figure)?;
            let found = pattern.captures_iter(output).last();
            let found = found.ok_or_else(|| format!("figure `{name}`: nothing in the output matches `{from}`"))?;
            found.get(1).or(found.get(0)).and_then(|text| text.as_str().trim().parse().ok())
        }
    };
    number
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| format!("figure `{name}`: what `{from}` finds is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(from: &str) -> OwnFigure {
        OwnFigure { name: "tps".into(), from: from.into(), unit: String::new(), more_is_better: true }
    }

    #[test]
    fn the_last_match_counts_and_its_first_group() {
        let output = "tps = 10 (warming up)\ntps = 812.5 (without connections)\n";
        assert_eq!(printed(&figure("tps = ([0-9.]+)"), output), Ok(812.5));
        assert_eq!(printed(&figure("[0-9.]+"), output), Ok(812.5));
        assert!(printed(&figure("ops = ([0-9.]+)"), output).unwrap_err().contains("nothing in the output matches"));
        assert!(printed(&figure("(without)"), output).unwrap_err().contains("no number"));
    }

    #[test]
    fn a_pointer_leads_into_json() {
        let output = "{\"jobs\": [{\"read\": {\"iops\": 1234.5}, \"name\": \"7\"}]}\n";
        assert_eq!(printed(&figure("/jobs/0/read/iops"), output), Ok(1234.5));
        assert_eq!(printed(&figure("/jobs/0/name"), output), Ok(7.0));
        assert!(printed(&figure("/jobs/1"), output).unwrap_err().contains("nothing at"));
        assert!(printed(&figure("/jobs"), "text").unwrap_err().contains("no JSON"));
    }
}
