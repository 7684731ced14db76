//! The filesystem's own check of an unmounted stage.
//! In: the check's command for this number of devices. Out: whether the filesystem is whole, how long that took, and the most telling line.

use super::Stage;
use super::recipe::Commands;
use records::Closing;
use std::time::Instant;

/// Longest line that is shown, in characters.
const LINE_LIMIT: usize = 200;

impl Stage<'_> {
    /// Adds the check's result; nothing if there is no check.
    pub(super) fn check(&self, closing: &mut Closing) {
        let Some(check) = self.state.filesystem.as_ref().and_then(|filesystem| filesystem.check.clone()) else {
            return;
        };
        let Some(command) = self.state.commands().and_then(Commands::check) else { return };
        let command = command.limit(self.limits().check()).accept(&(0..=255).collect::<Vec<_>>());
        let began = Instant::now();
        let answer = command.run(&self.target.journal);
        match answer {
            Ok(answer) => {
                closing.check_seconds = Some(began.elapsed().as_secs_f64());
                closing.whole = Some(check.clean.contains(&answer.status));
                let text = format!("{}{}", answer.stdout, answer.stderr);
                closing.check_answer = tail(&text);
                if closing.whole == Some(false) {
                    closing.damage = Some(telling(&text, &check.routine));
                }
            }
            Err(error) => closing.remarks.push(format!("not checked: {error}")),
        }
    }
}

/// The most telling line of a check's output: the first that a check of a sound filesystem does not print. The last line if its usual
/// output is not known.
fn telling(text: &str, routine: &[String]) -> String {
    let usual = |line: &&str| routine.is_empty() || routine.iter().any(|start| line.starts_with(start.as_str()));
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let found = lines.clone().find(|line| !usual(line)).or_else(|| lines.next_back());
    found.unwrap_or("its check printed nothing").chars().take(LINE_LIMIT).collect()
}

/// The last 20 lines.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_check_is_its_most_specific_line() {
        let routine = ["e2fsck ", "Pass "].map(String::from);
        let answer =
            "e2fsck 1.47.2 (1-Jan-2025)\nPass 1: Checking inodes\n  Inode 12 has a bad extent. Fix? no\n\nPass 5: x\n";
        assert_eq!(telling(answer, &routine), "Inode 12 has a bad extent. Fix? no");
        assert_eq!(telling("Pass 1: a\nPass 2: b\n", &routine), "Pass 2: b");
        assert_eq!(telling("banner\nerrors: 3 data errors\n", &[]), "errors: 3 data errors");
        assert_eq!(telling("", &routine), "its check printed nothing");
        assert_eq!(telling(&"x".repeat(5000), &[]).len(), LINE_LIMIT);
    }
}
