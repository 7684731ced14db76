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

/// A figure in a program's output.
///
/// # Errors
/// It is missing, or not a number; in a sentence.
pub fn printed(figure: &OwnFigure, output: &str) -> Result<f64, String> {
    let OwnFigure { name, from, .. } = figure;
    let number = match figure.pointer() {
        Some(pointer) => {
            let json: serde_json::Value = serde_json::from_str(output.trim())
                .map_err(|error| format!("figure `{name}` is at {from}, but the output is not JSON: {error}"))?;
            let found =
                json.pointer(pointer).ok_or_else(|| format!("figure `{name}`: the output has nothing at {from}"))?;
            found.as_f64().or_else(|| found.as_str()?.parse().ok())
        }
        None => {
            let pattern = Regex::new(from).map_err(|error| format!("figure `{name}`: {error}"))?;
            let found = pattern.captures_iter(output).last();
            let found = found.ok_or_else(|| format!("figure `{name}`: nothing in the output matches `{from}`"))?;
            found.get(1).or(found.get(0)).and_then(|text| text.as_str().trim().parse().ok())
        }
    };
    number
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| format!("figure `{name}`: the text found by `{from}` is not a number"))
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
        assert!(printed(&figure("(without)"), output).unwrap_err().contains("is not a number"));
    }

    #[test]
    fn a_pointer_leads_into_json() {
        let output = "{\"jobs\": [{\"read\": {\"iops\": 1234.5}, \"name\": \"7\"}]}\n";
        assert_eq!(printed(&figure("/jobs/0/read/iops"), output), Ok(1234.5));
        assert_eq!(printed(&figure("/jobs/0/name"), output), Ok(7.0));
        assert!(printed(&figure("/jobs/1"), output).unwrap_err().contains("nothing at"));
        assert!(printed(&figure("/jobs"), "text").unwrap_err().contains("not JSON"));
    }
}
