//! The same workload with several values of its options, to scale workers, sizes and the like.
//! In: options from a plan or command line. Out: one set of options for each combination; works with distinct scales.
//! Trials are identified by their workload's name and scale, so the settings that differ become part of the scale.

use runner::Work;
use std::collections::{BTreeMap, BTreeSet};

/// Most combinations of one workload.
const MOST: usize = 64;

/// Every combination of the given values, on top of the plan's own settings.
pub fn combinations(
    planned: &BTreeMap<String, String>,
    given: &[(String, Vec<String>)],
) -> Result<Vec<BTreeMap<String, String>>, String> {
    let mut all = vec![planned.clone()];
    for (key, values) in given {
        if all.len().saturating_mul(values.len()) > MOST {
            return Err(format!("--set {key}: more than {MOST} combinations of one workload; leave out some values"));
        }
        let with = |settings: &BTreeMap<String, String>, value: &String| {
            let mut settings = settings.clone();
            settings.insert(key.clone(), value.clone());
            settings
        };
        all = all.iter().flat_map(|settings| values.iter().map(|value| with(settings, value))).collect();
    }
    Ok(all)
}

/// Appends the differing settings to the scale of works that share name and scale.
///
/// # Errors
/// Two works are equal in everything.
pub fn tell_apart(works: &mut [Work]) -> Result<(), String> {
    let known: Vec<(String, String, BTreeMap<String, String>)> = works
        .iter()
        .map(|work| (work.name.clone(), work.compiled.scale.clone(), work.compiled.settings.clone()))
        .collect();
    for (at, work) in works.iter_mut().enumerate() {
        let (name, scale, own) = &known[at];
        let mut differing: BTreeSet<&String> = BTreeSet::new();
        for (_, _, other) in known
            .iter()
            .enumerate()
            .filter(|(place, other)| *place != at && (&other.0, &other.1) == (name, scale))
            .map(|(_, other)| other)
        {
            let keys: Vec<&String> = own.keys().filter(|key| own.get(*key) != other.get(*key)).collect();
            if keys.is_empty() {
                return Err(format!(
                    "the workload {name} is listed twice at scale {scale} with the same options; leave one out"
                ));
            }
            differing.extend(keys);
        }
        for key in differing {
            work.compiled.scale.push_str(&format!(", {key} {}", own[key]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_meets_every_other() {
        let planned = BTreeMap::from([("cache".to_owned(), "cold".to_owned())]);
        let given = [("processes".to_owned(), vec!["1".to_owned(), "2".to_owned()])];
        let all = combinations(&planned, &given).expect("two combinations");
        assert_eq!(all.iter().map(|settings| settings["processes"].as_str()).collect::<Vec<_>>(), ["1", "2"]);
        assert!(all.iter().all(|settings| settings["cache"] == "cold"));
        let many = [("files".to_owned(), vec!["1".to_owned(); 100])];
        assert!(combinations(&planned, &many).is_err());
    }
}
