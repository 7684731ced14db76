//! Sizes as axes store them: whole numbers with the unit that keeps them shortest and exact.
//! In: bytes, or such a text. Out: the other.
//! The plan language parses sizes as users write them.

const UNITS: [(char, u64); 4] = [('T', 1 << 40), ('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10)];

/// Bytes in the largest binary unit that divides them, as the kernel reads them too: `512M`, `1000`.
pub fn exact_size(bytes: u64) -> String {
    let unit = UNITS.iter().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    unit.map_or_else(|| bytes.to_string(), |(letter, factor)| format!("{}{letter}", bytes / factor))
}

/// The bytes of such a text.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let unit = UNITS.iter().find_map(|(letter, factor)| Some((text.strip_suffix(*letter)?, *factor)));
    let (digits, factor) = unit.unwrap_or((text, 1));
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_back_exact() {
        for (size, text) in
            [(512 << 20, "512M"), (2 << 30, "2G"), (1536 << 20, "1536M"), (1_000_000, "1000000"), (0, "0")]
        {
            assert_eq!((exact_size(size).as_str(), bytes(text)), (text, Some(size)));
        }
        for wrong in ["", "M", "1.5G", "2X", "99999999999T"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
