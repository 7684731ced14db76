//! Features as tables: for the terminal, folded to its width; as Markdown; as CSV.
//! In: what was probed and what was published. Out: text.

use super::Beside;
use crate::failure::Failure;
use crate::text;
use records::feature::Probed;
use staging::features::QUESTIONS;

/// For the terminal: questions as rows, filesystems as columns; `*` marks differences from what was published.
pub fn table(probed: &[Probed], beside: &[Beside], width: usize) -> String {
    let differs = |one: &Probed, key: &str| {
        beside.iter().any(|cell| {
            cell.filesystem == one.name && cell.agrees == Some(false) && cell.keys.iter().any(|known| known == key)
        })
    };
    report::terminal::feature_table(probed, &differs, width) + &differences(beside, width)
}

fn differences(beside: &[Beside], width: usize) -> String {
    if beside.is_empty() {
        return String::new();
    }
    let mut shown = String::from("Published features compared with those found here (* marks differences):\n");
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
        shown.push_str(&text::wrapped(&one, width, &format!("{mark} "), "    "));
    }
    shown
}

/// Every answer with the test behind it.
pub fn how(probed: &[Probed], width: usize) -> String {
    let mut shown = String::new();
    for one in probed {
        shown.push_str(&format!("{}\n", text::harmless(&one.heading())));
        for feature in &one.features {
            let answer = &feature.answer;
            let printed = format!("{}: {}; {}", feature.title, answer.text, answer.how);
            shown.push_str(&text::wrapped(&printed, width, "  ", "      "));
        }
        shown.push('\n');
    }
    shown
}

/// As a Markdown table.
pub fn markdown(probed: &[Probed], beside: &[Beside]) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let names: Vec<String> = probed.iter().map(|one| cell(&one.heading())).collect();
    let mut shown = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for (key, title) in QUESTIONS {
        let answers = probed.iter().map(|one| cell(one.answer(key).map_or("?", |answer| answer.text.as_str())));
        shown.push_str(&format!("| {title} | {} |\n", answers.collect::<Vec<_>>().join(" | ")));
    }
    if !beside.is_empty() {
        shown.push_str("\n| published | filesystem | there | here | same |\n|---|---|---|---|---|\n");
    }
    for one in beside {
        let same = one.agrees.map_or("?", |agrees| if agrees { "yes" } else { "no" });
        let cells = [&one.feature, &one.filesystem, &one.published, &one.found].map(|text| cell(text));
        shown.push_str(&format!("| {} | {same} |\n", cells.join(" | ")));
    }
    shown
}

/// As CSV: a row for each answer, with the published value.
///
/// # Errors
/// Never in practice: it is written into memory.
pub fn csv(probed: &[Probed], beside: &[Beside]) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "filesystem",
        "kernel",
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
                one.kernel.as_deref().unwrap_or_default(),
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
    use records::feature::{Answer, Feature};

    fn probed(name: &str) -> Probed {
        let answer = |text: &str| Answer { text: text.into(), has: Some(true), ..Answer::default() };
        let features = QUESTIONS.iter().map(|(key, title)| Feature {
            key: (*key).into(),
            title: (*title).into(),
            answer: answer("a rather long answer of words"),
        });
        Probed { name: name.into(), kernel: None, features: features.collect() }
    }

    #[test]
    fn six_filesystems_fold_into_eighty_columns() {
        let all: Vec<Probed> = ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs"].map(probed).into();
        let text = table(&all, &[], 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.matches("longest name, in bytes").count(), 2, "two tables of three");
    }

    #[test]
    fn every_answer_is_a_line_of_csv_and_a_different_one_is_marked() {
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
            text.lines().any(|line| line.starts_with("ext4,,snapshots,") && line.ends_with(",no,s,false")),
            "{text}"
        );
        assert!(table(&[one], &[cell], 80).contains("words*"));
    }
}
