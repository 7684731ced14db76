//! Long files made to be as costly as possible: each is refused with a sentence.

use workload::age_profiles::parse_profile;
use workload::workload::FILE_LIMIT;
use workload::{Plan, Workload, parse_contenders};

/// Longest acceptable error sentence, in bytes.
const SENTENCE: usize = 3000;

fn assert_refused(text: &str) {
    let file = "large.toml";
    let refusals = [
        Plan::parse(text, file).expect_err("no plan").to_string(),
        Workload::parse(text, file).expect_err("no workload").to_string(),
        parse_profile("large", text, file).expect_err("no age").to_string(),
        parse_contenders(text, file).expect_err("no contenders").to_string(),
    ];
    for refusal in refusals {
        assert!(!refusal.is_empty() && refusal.len() <= SENTENCE, "the refusal has {} bytes", refusal.len());
    }
}

/// A text between two others, repeated up to a quarter of the limit, which has the same effect in less time.
fn filled(begin: &str, part: &str, end: &str) -> String {
    let room = FILE_LIMIT / 4 - begin.len() - end.len();
    format!("{begin}{}{end}", part.repeat(room / part.len()))
}

#[test]
fn depth_without_end_is_refused() {
    assert_refused(&filled("a = ", "[", ""));
    assert_refused(&filled("a = ", "{a=", ""));
    assert_refused(&filled("", "a.", "a = 1"));
    assert_refused(&filled("[", "a.", "a]"));
    assert_refused(&filled("[[", "a.", "a]]"));
    assert_refused(&filled("a = {", "a.", "a = 1}"));
}

#[test]
fn a_word_as_long_as_the_file_is_refused_and_not_repeated_whole() {
    assert_refused(&filled("", "a", " = 1"));
    assert_refused(&filled("name = \"", "a", "\""));
    assert_refused(&filled("name = \"x\"\nworkloads = [\"y\"]\nfresh = \"", "a", "\""));
    assert_refused(&filled("seed = ", "9", ""));
    assert_refused(&filled("seed = -", "0", ""));
    assert_refused(&filled("seed = 1e", "9", ""));
    assert_refused(&filled("", "[[a]]\n", ""));
    assert_refused(&filled("a = [", "{},", "1]"));
    assert_refused(&filled("a", " ", ""));
}
