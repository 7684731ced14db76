//! Calls that ended differently from the recording.
//! In: the recorded and the new result of a call. Out: counts, and a sentence about them.

use std::collections::BTreeMap;

/// How a call ended, as far as it is compared: transfers by their amount, all others by success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Success, with the number of bytes if that is compared.
    Done(i64),
    /// Failure with this error.
    Failed(i32),
}

impl Ending {
    /// From the kernel's return value.
    pub fn of(result: i64, amounts: bool) -> Ending {
        match result {
            failed if failed < 0 => Ending::Failed(-failed as i32),
            amount => Ending::Done(if amounts { amount } else { 0 }),
        }
    }

    fn words(self) -> String {
        match self {
            Ending::Done(_) => "done".into(),
            Ending::Failed(number) => std::io::Error::from_raw_os_error(number).to_string(),
        }
    }

    /// A disk error or a full disk, which the program's own behaviour cannot explain.
    pub fn is_fatal(self) -> bool {
        matches!(
            self,
            Ending::Failed(libc::ENOSPC | libc::EIO | libc::EROFS | libc::EDQUOT | libc::EMFILE | libc::ENFILE)
        )
    }
}

/// All differing calls.
#[derive(Debug, Default)]
pub struct Otherwise(BTreeMap<(&'static str, Ending, Ending), u64>);

impl Otherwise {
    /// Counts one call.
    pub fn add(&mut self, call: &'static str, then: Ending, now: Ending) {
        *self.0.entry((call, then, now)).or_default() += 1;
    }

    /// The summary for this many calls; None if all ended as recorded.
    pub fn sentence(&self, calls: u64) -> Option<String> {
        const SHOWN: usize = 5;
        let all: u64 = self.0.values().sum();
        if all == 0 {
            return None;
        }
        let mut kinds: BTreeMap<(&str, String), u64> = BTreeMap::new();
        for ((call, then, now), count) in &self.0 {
            let how = match (then, now) {
                (Ending::Done(_), Ending::Done(_)) => "another amount".to_owned(),
                _ => format!("{} instead of {}", now.words(), then.words()),
            };
            *kinds.entry((call, how)).or_default() += count;
        }
        let mut counts: Vec<(u64, String)> =
            kinds.into_iter().map(|((call, how), count)| (count, format!("{call} {how} ({count})"))).collect();
        counts.sort_by(|a, b| b.cmp(a));
        let more = if counts.len() > SHOWN { " and others" } else { "" };
        let counts: Vec<String> = counts.into_iter().take(SHOWN).map(|(_, text)| text).collect();
        Some(format!("{all} of {calls} calls ended differently from the recording: {}{more}", counts.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_end_otherwise_are_counted_by_what_they_did() {
        let mut otherwise = Otherwise::default();
        assert_eq!(otherwise.sentence(10), None);
        otherwise.add("unlink", Ending::of(0, false), Ending::of(-2, false));
        otherwise.add("unlink", Ending::of(0, false), Ending::of(-2, false));
        otherwise.add("read", Ending::of(4096, true), Ending::of(0, true));
        let note = otherwise.sentence(10).unwrap();
        assert!(note.starts_with("3 of 10 calls"), "{note}");
        assert!(
            note.contains("unlink No such file or directory (os error 2) instead of done (2), read another amount (1)"),
            "{note}"
        );
    }
}
