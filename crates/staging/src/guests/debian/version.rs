//! Which of two Debian versions is the newer one.
//! In: versions, `EPOCH:UPSTREAM-REVISION`. Out: their order, by deb-version(7).
//! `~` sorts before the end, so a backport (`6.12.9-1~bpo12+1`) is older than its source.

use std::cmp::Ordering;

/// The order of two versions.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    let (epoch, upstream, revision) = parts(one);
    let (other_epoch, other_upstream, other_revision) = parts(other);
    epoch
        .cmp(&other_epoch)
        .then_with(|| piece(upstream.as_bytes(), other_upstream.as_bytes()))
        .then_with(|| piece(revision.as_bytes(), other_revision.as_bytes()))
}

fn parts(version: &str) -> (u64, &str, &str) {
    let (epoch, rest) = version.split_once(':').unwrap_or(("0", version));
    let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, ""));
    (epoch.parse().unwrap_or(0), upstream, revision)
}

/// In turns: non-digits, character by character; then a number.
fn piece(mut one: &[u8], mut other: &[u8]) -> Ordering {
    while !one.is_empty() || !other.is_empty() {
        while is_letter(one) || is_letter(other) {
            let order = weight(one).cmp(&weight(other));
            if order.is_ne() {
                return order;
            }
            (one, other) = (&one[1..], &other[1..]);
        }
        let (number, other_number);
        (number, one) = leading_number(one);
        (other_number, other) = leading_number(other);
        // Without leading zeros the longer number is the larger one.
        let order = number.len().cmp(&other_number.len()).then_with(|| number.cmp(other_number));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

fn is_letter(text: &[u8]) -> bool {
    text.first().is_some_and(|byte| !byte.is_ascii_digit())
}

/// `~` before the end, the end before letters, letters before all else.
fn weight(text: &[u8]) -> i32 {
    match text.first() {
        Some(b'~') => -1,
        None => 0,
        Some(byte) if byte.is_ascii_digit() => 0,
        Some(byte) if byte.is_ascii_alphabetic() => i32::from(*byte),
        Some(byte) => i32::from(*byte) + 256,
    }
}

fn leading_number(text: &[u8]) -> (&[u8], &[u8]) {
    let zeros = text.iter().take_while(|byte| **byte == b'0').count();
    let digits = text[zeros..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    (&text[zeros..zeros + digits], &text[zeros + digits..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_dpkg_orders_them() {
        // Each is older than the next; `dpkg --compare-versions` agrees on all of them.
        let ordered = [
            "6.1.9-1",
            "6.1.10-1",
            "6.1.176-1",
            "6.12.100-1",
            "6.12.117-1~deb12u1",
            "6.12.117-1",
            "6.12.117-1+b1",
            "6.12.117-2",
            "6.16.3-1~bpo13+1",
            "7.3~rc7-1~exp1",
            "7.3.4-1~bpo13+1",
            "7.3.4-1",
            "1:1.0-1",
        ];
        for (at, one) in ordered.iter().enumerate() {
            for (place, other) in ordered.iter().enumerate() {
                assert_eq!(compare(one, other), at.cmp(&place), "{one} and {other}");
            }
        }
        assert_eq!(compare("1.01-1", "1.1-1"), Ordering::Equal);
        assert_eq!(compare("1.0a-1", "1.0+-1"), Ordering::Less);
    }
}
