//! Features as tables: for the terminal, folded to its width; as Markdown and CSV.
//! In: what was probed and what was published. Out: text.

use super::{Beside, Probed};
use crate::failure::Failure;
use crate::text;
use staging::features::QUESTIONS;

/// Columns of the questions, and the narrowest of an answer.
const QUESTION: usize = 30;
const ANSWER: usize = 12;

/// For the terminal: questions as lines, filesystems as columns; `*` where something else was published.
pub fn table(probed: &[Probed], beside: &[Beside], width: usize) -> String {
    let widest = probed.iter().map(|one| one.name.chars().count() + 1).max().unwrap_or(0);
    let column = widest.clamp(ANSWER, 24);
    let fits = (width.saturating_sub(QUESTION) / column).max(1);
    let folds = probed.len().div_ceil(fits).max(1);
    let mut said = String::new();
    for shown in probed.chunks(probed.len().div_ceil(folds).max(1)) {
        said.push_str(&part(shown, beside, column));
        said.push('\n');
    }
    said.push_str(&differences(beside, width));
    said
}

fn part(shown: &[Probed], beside: &[Beside], column: usize) -> String {
    let mut said = line("", &shown.iter().map(|one| vec![one.name.clone()]).collect::<Vec<_>>(), column);
    for (key, title) in QUESTIONS {
        let cells: Vec<Vec<String>> = shown
            .iter()
            .map(|one| {
                let answer = one.answer(key).map_or("?", |answer| answer.text.as_str());
                let differs = beside.iter().any(|cell| {
                    cell.filesystem == one.name
                        && cell.agrees == Some(false)
                        && cell.keys.iter().any(|known| known == key)
                });
                let mark = if differs { "*" } else { "" };
                let text = format!("{answer}{mark}");
                text::wrapped(&text, column - 1, "", "").lines().map(str::to_owned).collect()
            })
            .collect();
        said.push_str(&line(title, &cells, column));
    }
    said
}

/// One line of the table, as high as its highest cell.
fn line(title: &str, cells: &[Vec<String>], column: usize) -> String {
    let titles: Vec<String> = text::wrapped(title, QUESTION - 1, "", "  ").lines().map(str::to_owned).collect();
    let high = cells.iter().map(Vec::len).chain([titles.len()]).max().unwrap_or(1);
    let mut said = String::new();
    for row in 0..high {
        let mut one = padded(titles.get(row), QUESTION);
        for cell in cells {
            one.push_str(&padded(cell.get(row), column));
        }
        said.push_str(one.trim_end());
        said.push('\n');
    }
    said
}

fn padded(text: Option<&String>, columns: usize) -> String {
    let text = text.map(String::as_str).unwrap_or_default();
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.chars().count())))
}

fn differences(beside: &[Beside], width: usize) -> String {
    if beside.is_empty() {
        return String::new();
    }
    let mut said = String::from("Published beside what was found here (* where they differ):\n");
    for cell in beside {
        let mark = match cell.agrees {
            Some(true) => "=",
            Some(false) => "*",
            None => "?",
        };
        let one = format!(
            "{}, {}: published {}; here {} [{}]",
            cell.filesystem, cell.feature, cell.published, cell.found, cell.source
        );
        said.push_str(&text::wrapped(&one, width, &format!("{mark} "), "    "));
    }
    said
}

/// Every answer with what was tried.
pub fn how(probed: &[Probed], width: usize) -> String {
    let mut said = String::new();
    for one in probed {
        said.push_str(&format!("{}\n", text::harmless(&one.name)));
        for feature in &one.features {
            let answer = &feature.answer;
            let told = format!("{}: {}; {}", feature.title, answer.text, answer.how);
            said.push_str(&text::wrapped(&told, width, "  ", "      "));
        }
        said.push('\n');
    }
    said
}

/// As a Markdown table.
pub fn markdown(probed: &[Probed], beside: &[Beside]) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let names: Vec<String> = probed.iter().map(|one| cell(&one.name)).collect();
    let mut said = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for (key, title) in QUESTIONS {
        let answers = probed.iter().map(|one| cell(one.answer(key).map_or("?", |answer| answer.text.as_str())));
        said.push_str(&format!("| {title} | {} |\n", answers.collect::<Vec<_>>().join(" | ")));
    }
    if !beside.is_empty() {
        said.push_str("\n| published | filesystem | there | here | same |\n|---|---|---|---|---|\n");
    }
    for one in beside {
        let same = one.agrees.map_or("?", |agrees| if agrees { "yes" } else { "no" });
        let cells = [&one.feature, &one.filesystem, &one.published, &one.found].map(|text| cell(text));
        said.push_str(&format!("| {} | {same} |\n", cells.join(" | ")));
    }
    said
}

/// As CSV: a line for each answer, with what was published about it.
///
/// # Errors
/// Never in practice: it is written into memory.
pub fn csv(probed: &[Probed], beside: &[Beside]) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "filesystem",
        "feature",
        "title",
        "answer",
        "has",
        "amount",
        "how",
        "published",
        "source",
        "agrees",
    ])?;
    for one in probed {
        for feature in &one.features {
            let answer = &feature.answer;
            let cell = beside.iter().find(|cell| cell.filesystem == one.name && cell.keys.contains(&feature.key));
            let text = |value: Option<bool>| value.map(|value| value.to_string()).unwrap_or_default();
            writer.write_record([
                one.name.as_str(),
                &feature.key,
                &feature.title,
                &answer.text,
                &text(answer.has),
                &answer.amount.map(|amount| amount.to_string()).unwrap_or_default(),
                &answer.how,
                cell.map_or("", |cell| cell.published.as_str()),
                cell.map_or("", |cell| cell.source.as_str()),
                &text(cell.and_then(|cell| cell.agrees)),
            ])?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| Failure::new(format!("writing CSV: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use staging::features::{Answer, Feature};

    fn probed(name: &str) -> Probed {
        let answer = |text: &str| Answer { text: text.into(), has: Some(true), ..Answer::default() };
        let features = QUESTIONS.iter().map(|(key, title)| Feature {
            key: (*key).into(),
            title: (*title).into(),
            answer: answer("a rather long answer of words"),
        });
        Probed { name: name.into(), features: features.collect() }
    }

    #[test]
    fn six_filesystems_fold_into_eighty_columns() {
        let all: Vec<Probed> = ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs"].map(probed).into();
        let text = table(&all, &[], 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.matches("longest name, in bytes").count(), 2, "two tables of three");
    }

    #[test]
    fn every_answer_is_a_line_of_csv_and_a_differing_one_says_so() {
        let one = probed("ext4");
        let cell = Beside {
            source: "s".into(),
            feature: "snapshots".into(),
            filesystem: "ext4".into(),
            published: "no".into(),
            keys: vec!["snapshots".into()],
            found: "yes".into(),
            agrees: Some(false),
        };
        let text =
            csv(std::slice::from_ref(&one), std::slice::from_ref(&cell)).unwrap_or_else(|f| panic!("{}", f.text));
        assert_eq!(text.lines().count(), QUESTIONS.len() + 1);
        assert!(
            text.lines().any(|line| line.starts_with("ext4,snapshots,") && line.ends_with(",no,s,false")),
            "{text}"
        );
        assert!(table(&[one], &[cell], 80).contains("words*"));
    }
}
