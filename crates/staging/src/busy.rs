//! What is busy for a moment: tools of other filesystems look at every device now and then, a server that was told to end has a file open until it is gone,
//! and what a process has just closed a child that it is starting at the same moment may hold until it runs.
//! In: an attempt, and how long it is worth waiting. Out: what the last attempt came to.

use std::time::{Duration, Instant};

/// The first pause between two attempts; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The longest: attempts are records of the journal, so there are no more of them than show it.
const LONGEST_PAUSE: Duration = Duration::from_millis(320);

/// Tries until it succeeds, or has been busy for too long.
pub(crate) fn when_free<Done, Why>(
    limit: Duration,
    mut attempt: impl FnMut() -> Result<Done, Why>,
) -> Result<Done, Why> {
    let end = Instant::now() + limit;
    let mut pause = FIRST_PAUSE;
    loop {
        match attempt() {
            Err(_) if Instant::now() < end => std::thread::sleep(pause),
            ended => return ended,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_tried_until_it_succeeds_or_the_time_is_over() {
        let mut left = 3;
        let mut attempt = || {
            left -= 1;
            if left == 0 { Ok("free") } else { Err(left) }
        };
        assert_eq!(when_free(Duration::from_secs(60), &mut attempt), Ok("free"));
        assert_eq!(when_free(Duration::ZERO, &mut attempt), Err(-1), "one attempt at least");
    }
}
