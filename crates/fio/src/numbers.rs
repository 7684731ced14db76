//! Numbers as fio writes them (fio(1), "Parameter types").
//! In: a value. Out: bytes, seconds or a boolean; None if it is invalid.

/// Bytes: a number with `k`, `m`, `g`, `t` or `p` for powers of `base` (`kb_base`, 1024 unless the job sets 1000), with or without a `b`;
/// with an `i` between them for powers of the other base, as in fio.
pub fn bytes(text: &str, base: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = text[digits..].strip_suffix('b').unwrap_or(&text[digits..]);
    let (unit, base) = match unit.strip_suffix('i') {
        Some(unit) => (unit, if base == 1024 { 1000 } else { 1024 }),
        None => (unit, base),
    };
    let power = match unit {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    number.checked_mul(u64::checked_pow(base, power)?)
}

/// Seconds: a number, with `d`, `h`, `m`, `s`, `ms` or `us` if its unit is not seconds.
pub fn seconds(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let each = match &text[digits..] {
        "" | "s" | "sec" => 1.0,
        "d" | "day" => 86_400.0,
        "h" | "hour" => 3_600.0,
        "m" | "min" => 60.0,
        "ms" | "msec" => 1e-3,
        "us" | "usec" => 1e-6,
        _ => return None,
    };
    Some(number * each)
}

/// A boolean: `1`, or the bare word.
pub fn truth(text: &str) -> bool {
    text.trim() != "0"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_fio_reads_them() {
        for (text, expected) in [
            ("512", 512),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("1m", 1 << 20),
            ("2g", 2 << 30),
            ("1MiB", 1_000_000),
            ("3t", 3 << 40),
        ] {
            assert_eq!(bytes(text, 1024), Some(expected), "{text}");
        }
        assert_eq!((bytes("4k", 1000), bytes("4ki", 1000)), (Some(4000), Some(4096)));
        for text in ["", "k", "4x", "10%", "99999999p", "4k-8k"] {
            assert_eq!(bytes(text, 1024), None, "{text}");
        }
    }

    #[test]
    fn times_are_seconds_unless_they_say_more() {
        for (text, expected) in [("30", 30.0), ("30s", 30.0), ("2m", 120.0), ("1h", 3600.0), ("500ms", 0.5)] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        assert_eq!(seconds("soon"), None);
    }
}
