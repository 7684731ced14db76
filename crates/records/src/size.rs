//! Sizes as text, in one format everywhere.
//! In: bytes. Out: text in binary units.

/// Bytes in the largest binary unit that keeps them short and exact to one digit: `1.5 GiB`, `512 B`.
pub fn show_bytes(bytes: u64) -> String {
    for (name, factor) in [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= factor {
            let tenths = (u128::from(bytes) * 10 + u128::from(factor) / 2) / u128::from(factor);
            return match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                tenth => format!("{}.{tenth} {name}", tenths / 10),
            };
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_short() {
        assert_eq!(show_bytes(512), "512 B");
        assert_eq!(show_bytes(1536), "1.5 KiB");
        assert_eq!(show_bytes(5 << 30), "5 GiB");
    }
}
