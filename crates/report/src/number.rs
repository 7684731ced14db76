//! Figures for readers: one unit a workload, and no more digits than the intervals of a row allow.
//! In: values in base units (bytes or items a second, seconds). Out: scaled text with its unit.
//! Exact values go to CSV and JSON elsewhere; stored values are never rounded here.

use records::program::Figure;
use serde::Serialize;

/// Fewest significant digits that a figure is shown with.
const LEAST_DIGITS: i32 = 2;
/// Most significant digits that a figure is shown with.
const MOST_DIGITS: i32 = 4;
/// Significant digits of a figure without an interval.
const PLAIN_DIGITS: i32 = 3;

/// A unit to show values in: base values are divided by `divisor`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Unit {
    /// What base values are divided by.
    pub divisor: f64,
    /// Its symbol, as shown after the figure: `MB/s`, `k/s`, `ms`.
    pub sign: &'static str,
    /// The unit in words, for screen readers and axes.
    pub words: &'static str,
    /// What figures are rounded to, in this unit; `None`: each figure by itself.
    #[serde(skip)]
    step: Option<f64>,
}

const BYTES: [Unit; 4] = [
    Unit::new(1e9, "GB/s", "gigabytes a second"),
    Unit::new(1e6, "MB/s", "megabytes a second"),
    Unit::new(1e3, "kB/s", "kilobytes a second"),
    Unit::new(1.0, "B/s", "bytes a second"),
];
const ITEMS: [Unit; 3] = [
    Unit::new(1e6, "M/s", "million operations a second"),
    Unit::new(1e3, "k/s", "thousand operations a second"),
    Unit::new(1.0, "/s", "operations a second"),
];
/// Units of figures that programs print, whatever their own unit is; that is in the title of the row.
const PRINTED: [Unit; 3] =
    [Unit::new(1e6, "M", "millions"), Unit::new(1e3, "k", "thousands"), Unit::new(1.0, "", "as printed")];
const SECONDS: [Unit; 4] = [
    Unit::new(1.0, "s", "seconds"),
    Unit::new(1e-3, "ms", "milliseconds"),
    Unit::new(1e-6, "µs", "microseconds"),
    Unit::new(1e-9, "ns", "nanoseconds"),
];

impl Unit {
    const fn new(divisor: f64, sign: &'static str, words: &'static str) -> Unit {
        Unit { divisor, sign, words, step: None }
    }

    /// Rounds figures in one row alike: as the intervals of half of them allow.
    pub fn rounded(self, figures: impl Iterator<Item = (f64, Option<f64>)>) -> Unit {
        let mut steps: Vec<f64> = figures.filter_map(|(value, half)| self.own_step(value, half)).collect();
        steps.sort_by(f64::total_cmp);
        Unit { step: steps.get(steps.len() / 2).copied(), ..self }
    }

    /// The place of the last significant digit of a figure; `None` for zero.
    fn own_step(&self, value: f64, half_width: Option<f64>) -> Option<f64> {
        let value = (value / self.divisor).abs();
        let digits = self.half(half_width).map_or(PLAIN_DIGITS, |half| digits(value, half));
        (value > 0.0 && value.is_finite()).then(|| 10f64.powi(leading(value) + 1 - digits))
    }

    /// A half-width in this unit, where there is a usable one.
    fn half(&self, half_width: Option<f64>) -> Option<f64> {
        half_width.map(|half| half / self.divisor).filter(|half| half.is_finite() && *half > 0.0)
    }

    /// The unit in which the values of one row read best: the smallest of them is at least 1 where the range allows,
    /// and the largest stays below ten thousand.
    pub fn for_row(figure: Figure, values: impl Iterator<Item = f64> + Clone) -> Unit {
        let largest = values.clone().fold(0.0, f64::max);
        let smallest = values.filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let units: &[Unit] = match figure {
            Figure::BytesPerSecond => &BYTES,
            Figure::ItemsPerSecond => &ITEMS,
            Figure::Seconds => &SECONDS,
            Figure::Printed => &PRINTED,
        };
        let fits = |unit: &&Unit| largest / unit.divisor < 10_000.0 && smallest / unit.divisor >= 1.0;
        let reaches = |unit: &&Unit| largest / unit.divisor >= 1.0;
        let fallback = || units.iter().find(reaches).or(units.last()).copied().unwrap_or(SECONDS[0]);
        units.iter().find(fits).copied().unwrap_or_else(fallback)
    }

    /// A duration in nanoseconds in its most readable unit.
    pub fn of_nanoseconds(nanoseconds: f64) -> String {
        let seconds = nanoseconds / 1e9;
        let unit = Unit::for_row(Figure::Seconds, std::iter::once(seconds));
        format!("{} {}", plain(seconds / unit.divisor), unit.sign)
    }

    /// The figure without its unit; `half_width` of its interval decides how many digits it may have.
    pub fn show(&self, value: f64, half_width: Option<f64>) -> String {
        let value = value / self.divisor;
        if let Some(step) = self.step.filter(|_| value.is_finite() && value != 0.0) {
            let first = leading(value.abs());
            let last = leading(step * 1.5).clamp(first + 1 - MOST_DIGITS, first + 1 - LEAST_DIGITS);
            let place = 10f64.powi(last);
            return format!("{:.*}", (-last).max(0) as usize, (value / place).round() * place);
        }
        match self.half(half_width) {
            Some(half) => with_resolution(value, half),
            None => plain(value),
        }
    }
}

/// Digits down to the leading digit of the half-width, at least two and at most four of them significant.
fn with_resolution(value: f64, half_width: f64) -> String {
    significant(value, digits(value, half_width))
}

fn digits(value: f64, half_width: f64) -> i32 {
    (leading(value.abs()) - leading(half_width) + 1).clamp(LEAST_DIGITS, MOST_DIGITS)
}

/// Power of ten of the first digit.
fn leading(value: f64) -> i32 {
    value.max(f64::MIN_POSITIVE).log10().floor() as i32
}

/// Three significant digits.
pub fn plain(value: f64) -> String {
    significant(value, PLAIN_DIGITS)
}

fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { "–".into() };
    }
    let leading = value.abs().log10().floor() as i32;
    let decimals = digits - 1 - leading;
    if decimals >= 0 {
        return format!("{value:.*}", decimals as usize);
    }
    // Above the allowed digits the integer part is rounded too: 10463 with three digits becomes 10500.
    let step = 10f64.powi(-decimals);
    if value.abs() < 1e6 && digits >= PLAIN_DIGITS && leading < MOST_DIGITS {
        return format!("{value:.0}");
    }
    format!("{:.0}", (value / step).round() * step)
}

/// All digits of the value, for samples.
pub fn exact(value: f64) -> String {
    format!("{value}")
}

/// The same; empty where nothing was measured.
pub fn maybe(value: Option<f64>) -> String {
    value.map(exact).unwrap_or_default()
}

/// The low end of an interval, exactly.
pub fn low(interval: Option<(f64, f64)>) -> String {
    maybe(interval.map(|(low, _)| low))
}

/// The high end of an interval, exactly.
pub fn high(interval: Option<(f64, f64)>) -> String {
    maybe(interval.map(|(_, high)| high))
}

/// A count in few characters: 512, 65.5k, 1.31M.
pub fn count(value: f64) -> String {
    match value {
        value if value < 10_000.0 => format!("{value:.0}"),
        value if value < 1e6 => format!("{}k", plain(value / 1e3)),
        value if value < 1e9 => format!("{}M", plain(value / 1e6)),
        value => format!("{}G", plain(value / 1e9)),
    }
}

/// How many times: 1.6, 12, 140.
pub fn ratio(value: f64) -> String {
    match value {
        value if value < 9.95 => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        value if value < 99.5 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// The interval shown after a ratio: ` (1.2 to 1.8)`.
pub fn range(interval: Option<(f64, f64)>) -> String {
    interval.map_or_else(String::new, |(low, high)| format!(" ({} to {})", ratio(low), ratio(high)))
}

/// A ratio for a quick reading: 1, 1.04, 1.6, 16, 160. The judge's digits; but "at most" needs a number, however large.
pub fn times(value: f64) -> String {
    match value {
        1.0 => "1".into(),
        value if value >= 1000.0 => format!("{value:.0}"),
        value => judge::factor(value),
    }
}

/// The same with equal decimals in every line of a column; the best is 1.
pub fn aligned_ratio(value: f64) -> String {
    match value {
        1.0 => "1".into(),
        value if value < 9.995 => format!("{value:.2}"),
        value => ratio(value),
    }
}

/// A share in percent, whole from ten on.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A share as whole percents.
pub fn whole_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The number in a setting, in base units: `4`, `128 MiB`, `50 %`; `None` for words.
pub fn quantity(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.find(|letter: char| !(letter.is_ascii_digit() || ".,_".contains(letter))).unwrap_or(text.len());
    let value: f64 = text[..digits].replace([',', '_'], "").parse().ok()?;
    let factor = match text[digits..].trim() {
        "" | "B" | "%" | "s" => 1.0,
        "kB" => 1e3,
        "KiB" => 1024.0,
        "MB" => 1e6,
        "MiB" => 1048576.0,
        "GB" => 1e9,
        "GiB" => 1073741824.0,
        "TiB" => 1099511627776.0,
        "ms" => 1e-3,
        "min" => 60.0,
        _ => return None,
    };
    value.is_finite().then_some(value * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_no_digit_below_its_interval() {
        let unit = Unit::new(1e6, "MB/s", "");
        assert_eq!(unit.show(105.31e6, Some(4.2e6)), "105");
        assert_eq!(unit.show(105.31e6, Some(0.42e6)), "105.3");
        assert_eq!(unit.show(5.237e6, Some(0.9e6)), "5.2");
        assert_eq!(unit.show(1_234.5e6, Some(300.0e6)), "1200");
    }

    #[test]
    fn figures_side_by_side_are_rounded_alike_but_never_to_one_digit() {
        let figures = [(1566.0, Some(9.0)), (9013.0, Some(300.0)), (520.4, Some(20.0)), (57.3, Some(2.0))];
        let unit = Unit::new(1.0, "", "").rounded(figures.into_iter());
        let shown: Vec<String> = figures.iter().map(|(value, half)| unit.show(*value, *half)).collect();
        assert_eq!(shown, ["1570", "9010", "520", "57"]);
        let alone = Unit::new(1.0, "", "").rounded([(24.83, Some(0.3)), (33.1, Some(4.0)), (5.83, None)].into_iter());
        assert_eq!((alone.show(24.83, None), alone.show(33.1, None)), ("24.8".into(), "33.1".into()));
    }

    #[test]
    fn a_row_has_one_unit_that_suits_its_smallest_and_largest() {
        let of = |values: &[f64]| Unit::for_row(Figure::BytesPerSecond, values.iter().copied()).sign;
        assert_eq!(of(&[1.2e9, 3.4e9]), "GB/s");
        assert_eq!(of(&[0.4e9, 3.4e9]), "MB/s");
        assert_eq!(of(&[12.0e3, 31.0e9]), "GB/s");
    }

    #[test]
    fn settings_are_numbers_or_words() {
        let read = ["16", "4 KiB", "300,000", "50 %"].map(quantity);
        assert_eq!(read, [Some(16.0), Some(4096.0), Some(300_000.0), Some(50.0)]);
        assert_eq!(["cold", "16:0:0:1", "", "4 parsecs"].map(quantity), [None; 4]);
    }

    #[test]
    fn small_times_are_not_shown_as_zero() {
        assert_eq!(Unit::of_nanoseconds(1234.0), "1.23 µs");
        assert_eq!(Unit::of_nanoseconds(2.5e9), "2.50 s");
    }

    #[test]
    fn counts_fit_into_narrow_columns() {
        assert_eq!((count(512.0), count(65_536.0), count(1_310_720.0)), ("512".into(), "65.5k".into(), "1.31M".into()));
    }

    #[test]
    fn ratios_and_shares_keep_few_digits() {
        assert_eq!((ratio(1.6), ratio(12.34), ratio(140.4)), ("1.6".into(), "12.3".into(), "140".into()));
        assert_eq!([1.0, 1.04, 1.6, 16.4, 1234.5].map(times), ["1", "1.04", "1.6", "16", "1234"]);
        assert_eq!((percent(0.034), percent(0.42)), ("3.4 %".into(), "42 %".into()));
    }
}
