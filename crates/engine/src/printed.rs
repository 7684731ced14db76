//! Figures that a program prints about itself, found in its output.
//! In: a figure or part, and the output. Out: a number, or a group's outcome; or why there is none.

use crate::fio;
use regex::Regex;
use workload::outcome::GroupOutcome;
use workload::program::{OwnFigure, Reports};

/// The parts of its work that a program reported.
///
/// # Errors
/// One is missing, or the output does not have that form; in a sentence.
pub fn parts(reports: Option<&Reports>, output: &str) -> Result<Vec<GroupOutcome>, String> {
    match reports {
        None => Ok(Vec::new()),
        Some(Reports::Fio(names)) => fio::parts(names, output),
    }
}

/// A figure in what a program printed: on its standard output, else on its standard error.
///
/// # Errors
/// It is missing, or not a number; in a sentence.
pub fn printed(figure: &OwnFigure, outputs: [&str; 2]) -> Result<f64, String> {
    let [output, errors] = outputs.map(|text| found(figure, text));
    let text = match (output, errors) {
        (Ok(text), _) | (Err(_), Ok(text)) => text,
        (Err(why), Err(_)) => return Err(why),
    };
    number(&text).ok_or_else(|| {
        let OwnFigure { name, from, .. } = figure;
        let shown: String = text.chars().take(SHOWN_LIMIT).collect();
        format!("figure `{name}`: `{shown}`, found by `{from}`, is not a number")
    })
}

/// Characters of a found text that an error repeats.
const SHOWN_LIMIT: usize = 80;

/// The text of a figure in one output.
fn found(figure: &OwnFigure, output: &str) -> Result<String, String> {
    let OwnFigure { name, from, .. } = figure;
    if let Some(pointer) = figure.pointer() {
        let json: serde_json::Value = serde_json::from_str(output.trim())
            .map_err(|error| format!("figure `{name}` is at {from}, but the output is not JSON: {error}"))?;
        let value =
            json.pointer(pointer).ok_or_else(|| format!("figure `{name}`: the output has nothing at {from}"))?;
        return Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    let pattern = Regex::new(from).map_err(|error| format!("figure `{name}`: {error}"))?;
    let last = pattern.captures_iter(output).last();
    let last = last.ok_or_else(|| format!("figure `{name}`: nothing in the output matches `{from}`"))?;
    let group = last.name(name).or_else(|| last.iter().skip(1).flatten().next()).or(last.get(0));
    Ok(group.map_or(String::new(), |text| text.as_str().trim().to_owned()))
}

/// A finite number, with or without a unit after it.
fn number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| c.is_alphabetic() && !"eE".contains(c) || c == '%').unwrap_or(text.len());
    let plain = |text: &str| text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    plain(text).or_else(|| plain(&text[..end]))
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
        let printed = |from: &str| printed(&figure(from), [output, "elapsed 12 s\n"]);
        assert_eq!(printed("tps = ([0-9.]+)"), Ok(812.5));
        assert_eq!(printed("[0-9.]+"), Ok(812.5));
        assert_eq!(printed("elapsed ([0-9]+)"), Ok(12.0), "it is on standard error");
        assert!(printed("ops = ([0-9.]+)").unwrap_err().contains("nothing in the output matches"));
        assert_eq!(printed("(without)").unwrap_err(), "figure `tps`: `without`, found by `(without)`, is not a number");
    }

    #[test]
    fn the_group_of_a_figures_name_counts_before_the_first() {
        let from = "(?P<jobs>[0-9]+) jobs, (?P<tps>[0-9]+) tps";
        assert_eq!(printed(&figure(from), ["8 jobs, 900 tps", ""]), Ok(900.0));
        assert_eq!(printed(&figure("x=([0-9]+)|y=([0-9]+)"), ["y=7", ""]), Ok(7.0), "the group that took part");
    }

    #[test]
    fn numbers_may_be_negative_and_have_units() {
        for (text, expected) in [
            ("-3.5", Some(-3.5)),
            ("12 MB/s", Some(12.0)),
            ("1.5e3ops", Some(1500.0)),
            ("97.5 %", Some(97.5)),
            ("+4", Some(4.0)),
            ("1,234", None),
            ("s 5", None),
            ("", None),
            ("inf", None),
            ("NaN", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn a_pointer_leads_into_json() {
        let output = "{\"jobs\": [{\"read\": {\"iops\": 1234.5}, \"name\": \"7\"}]}\n";
        let printed = |from: &str, output: &str| printed(&figure(from), [output, ""]);
        assert_eq!(printed("/jobs/0/read/iops", output), Ok(1234.5));
        assert_eq!(printed("/jobs/0/name", output), Ok(7.0));
        assert!(printed("/jobs/1", output).unwrap_err().contains("nothing at"));
        assert!(printed("/jobs", "text").unwrap_err().contains("not JSON"));
    }
}
