//! Every key and word of the language is in its document. The keys come from the parser, whose error for an unknown key lists them.

use std::path::Path;
use workload::age_profiles::parse_profile;
use workload::{Plan, Workload};

const WORKLOAD: &str = "name = \"w\"\ntitle = \"t\"\nabout = \"a\"\n";
const PHASE: &str = "[scales.quick]\n[[phases]]\nname = \"p\"\n";
const WHOLE: &str = "[scales.quick]\n[[phases]]\nname = \"p\"\nwork = { files = \"f\", steps = [\"read\"] }\n";
const PLAN: &str = "name = \"p\"\nworkloads = [\"mail\"]\n";

/// The known words in the parser's error for an unknown one.
fn known(error: &str) -> Vec<String> {
    let list = error.split_once("(known: ").and_then(|(_, rest)| rest.split_once(')'));
    let (list, _) = list.unwrap_or_else(|| panic!("it does not say what is known: {error}"));
    list.split(", ").map(str::to_owned).collect()
}

/// The words that are not in the document: neither in backticks or quotes, nor at the beginning of a line of an example.
fn undocumented(document: &str, words: &[String]) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = std::fs::read_to_string(path).expect("a document");
    let is_present = |word: &String| {
        let forms = [
            format!("`{word}`"),
            format!("\"{word}\""),
            format!("`{word} ="),
            format!("\n{word} ="),
            format!("[[{word}]]"),
        ];
        let inline = [
            format!("{{ {word} ="),
            format!(", {word} ="),
            format!("[{word}]"),
            format!("[{word}."),
            format!("`{word}."),
        ];
        forms.iter().chain(&inline).any(|form| text.contains(form))
    };
    words.iter().filter(|word| !is_present(word)).cloned().collect()
}

#[test]
fn every_key_of_a_workload_is_documented() {
    let texts = [
        format!("{WORKLOAD}aaqqaaqqaaqq = 1\n{WHOLE}"),
        format!("{WORKLOAD}[options.x]\naaqqaaqqaaqq = 1\n{WHOLE}"),
        format!("{WORKLOAD}[[filesets]]\naaqqaaqqaaqq = 1\n{WHOLE}"),
        format!("{WORKLOAD}[[filesets]]\nname = \"f\"\nlayout = \"aaqqaaqqaaqq\"\n{WHOLE}"),
        format!("{WORKLOAD}{PHASE}aaqqaaqqaaqq = 1\n"),
        format!("{WORKLOAD}{PHASE}work = {{ aaqqaaqqaaqq = 1 }}\n"),
        format!("{WORKLOAD}{PHASE}work = {{ files = \"f\", steps = [\"aaqqaaqqaaqq\"] }}\n"),
        format!("{WORKLOAD}{PHASE}work = {{ files = \"f\", steps = [{{ share = {{ aaqqaaqqaaqq = 1 }} }}] }}\n"),
        format!("{WORKLOAD}[[totals]]\naaqqaaqqaaqq = 1\n{WHOLE}"),
    ];
    for text in texts {
        let error = Workload::parse(&text, "w.toml").expect_err("that word is unknown").to_string();
        assert_eq!(undocumented("workloads.md", &known(&error)), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn every_key_of_a_plan_is_documented() {
    let texts = [
        format!("{PLAN}aaqqaaqqaaqq = 1\n"),
        format!("{PLAN}where = {{ aaqqaaqqaaqq = 1 }}\n"),
        format!("{PLAN}[contenders.x]\naaqqaaqqaaqq = 1\n"),
        format!("{PLAN}[axes]\naaqqaaqqaaqq = 1\n"),
        format!("{PLAN}[sampling]\naaqqaaqqaaqq = 1\n"),
        "name = \"p\"\nworkloads = [{ aaqqaaqqaaqq = 1 }]\n".to_owned(),
    ];
    for text in texts {
        let error = Plan::parse(&text, "p.toml").expect_err("that word is unknown").to_string();
        assert_eq!(undocumented("workloads.md", &known(&error)), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn every_key_of_an_age_is_documented() {
    for text in ["aaqqaaqqaaqq = 1\n", "[churn]\naaqqaaqqaaqq = 1\n", "[churn]\nmix = { aaqqaaqqaaqq = 1 }\n"] {
        let error = parse_profile("x", text, "x.toml").expect_err("that word is unknown").to_string();
        assert_eq!(undocumented("age.md", &known(&error)), Vec::<String>::new(), "{text}");
    }
}
