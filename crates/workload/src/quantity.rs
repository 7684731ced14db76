//! Sizes, durations, counts and shares as users write them: `5 GiB`, `50 kB`, `1 s`, `30_000`, `10 %`.
//! In: text, possibly with `$variables` and `+ - * /` between terms. Out: bytes, nanoseconds or plain numbers, exact.
//! Decimal units are powers of 1000, binary ones (`KiB`, and the single letters that dd and util-linux use) of 1024.

use crate::error::Problem;
pub use records::show_bytes;
use std::collections::BTreeMap;
use std::time::Duration;

/// Variables in scope and their text.
pub(crate) type Scope = BTreeMap<String, String>;

/// Depth limit for variables that refer to other variables.
const DEPTH_LIMIT: u32 = 8;

/// Largest value of any quantity: 2^60, far below the overflow of 64 bits.
pub const QUANTITY_LIMIT: u64 = 1 << 60;

const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("K", 1 << 10),
    ("k", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
];

const TIMES: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Plain,
    Bytes,
    Nanoseconds,
    Percent,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Plain => "a plain number",
            Unit::Bytes => "a size such as `1 MiB`",
            Unit::Nanoseconds => "a duration such as `1 s`",
            Unit::Percent => "a share such as `10 %`",
        }
    }
}

/// A number of bytes as users write it: `20G`, `5 GiB`, `50 kB`, `4096`.
pub fn parse_bytes(text: &str) -> std::result::Result<u64, String> {
    in_words(evaluate(text, Unit::Bytes, &Scope::new()))
}

/// A duration as users write it: `10m`, `1.5 s`, `2h`.
pub fn parse_duration(text: &str) -> std::result::Result<Duration, String> {
    let number = text.trim();
    if number.parse::<u64>().is_ok() {
        return Err(format!("`{number}` has no unit: write `{number}s` or `{number}m`"));
    }
    in_words(evaluate(text, Unit::Nanoseconds, &Scope::new())).map(Duration::from_nanos)
}

/// A share as users write it, between 0 and 1: `5%`, `5 %`, `2.5%`; `0` with or without the percent sign.
pub fn parse_share(text: &str) -> std::result::Result<f64, String> {
    if text.trim() == "0" {
        return Ok(0.0);
    }
    let number = text.trim().strip_suffix('%').map(str::trim);
    match number.and_then(|number| number.parse::<f64>().ok()) {
        Some(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is not a share from 0 % to 100 %; write it as `5%`")),
    }
}

fn in_words<T>(result: std::result::Result<T, Problem>) -> std::result::Result<T, String> {
    result.map_err(|problem| match problem.help {
        Some(help) => format!("{} ({help})", problem.problem),
        None => problem.problem,
    })
}

/// Value of a text in the wanted unit. A plain number is accepted for bytes and percent.
pub(crate) fn evaluate(text: &str, wanted: Unit, scope: &Scope) -> std::result::Result<u64, Problem> {
    let (value, unit) = sum(text, scope, DEPTH_LIMIT)?;
    let fits = unit == wanted || (unit == Unit::Plain && matches!(wanted, Unit::Bytes | Unit::Percent));
    if !fits {
        return Err(Problem::new(format!("`{text}` is {} where {} is wanted", unit.name(), wanted.name())));
    }
    if value.denominator != 1 {
        let whole = match wanted {
            Unit::Bytes => "number of bytes",
            Unit::Nanoseconds => "number of nanoseconds",
            _ => "number",
        };
        return Err(Problem::new(format!("`{text}` is not a whole {whole}")));
    }
    u64::try_from(value.numerator)
        .ok()
        .filter(|value| *value <= QUANTITY_LIMIT)
        .ok_or_else(|| Problem::new(format!("`{text}` is larger than 2^60")))
}

/// An exact fraction of two integers, so that `1.5 GiB` and `$size / 3` are not rounded in between.
#[derive(Debug, Clone, Copy)]
struct Exact {
    numerator: u128,
    denominator: u128,
}

impl Exact {
    /// In lowest terms.
    fn of(numerator: u128, denominator: u128) -> Self {
        let (mut a, mut b) = (numerator, denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let common = a.max(1);
        Exact { numerator: numerator / common, denominator: denominator / common }
    }
}

type Term = (Exact, Unit);

/// Combines the operands before and after an operator; the texts are the operator and the whole quantity.
type Join = fn(Term, Term, &str, &str) -> std::result::Result<Term, Problem>;

/// Parts between operators, combined from the left.
fn joined(
    words: &[String],
    (operators, join): ([&str; 2], Join),
    text: &str,
    read: impl Fn(&[String]) -> std::result::Result<Term, Problem>,
) -> std::result::Result<Term, Problem> {
    let is_operator = |word: &String| operators.contains(&word.as_str());
    let mut parts = words.split(is_operator);
    let first = read(parts.next().unwrap_or_default())?;
    parts
        .zip(words.iter().filter(|word| is_operator(word)))
        .try_fold(first, |left, (part, operator)| join(left, read(part)?, operator, text))
}

/// Terms joined by `+` and `-`, each a product.
fn sum(text: &str, scope: &Scope, depth: u32) -> std::result::Result<Term, Problem> {
    joined(&words(text)?, (["+", "-"], add), text, |part| product(part, text, scope, depth))
}

fn product(words: &[String], text: &str, scope: &Scope, depth: u32) -> std::result::Result<Term, Problem> {
    joined(words, (["*", "/"], multiply), text, |part| term(part, text, scope, depth))
}

fn add(left: Term, right: Term, sign: &str, text: &str) -> std::result::Result<Term, Problem> {
    if left.1 != right.1 {
        return Err(Problem::new(format!("`{text}` adds {} and {}", left.1.name(), right.1.name())));
    }
    let (a, b) = (left.0, right.0);
    let over = || Problem::new(format!("`{text}` is larger than 2^60"));
    let first = a.numerator.checked_mul(b.denominator).ok_or_else(over)?;
    let second = b.numerator.checked_mul(a.denominator).ok_or_else(over)?;
    let numerator = match sign {
        "-" => first.checked_sub(second).ok_or_else(|| Problem::new(format!("`{text}` is below zero")))?,
        _ => first.checked_add(second).ok_or_else(over)?,
    };
    let denominator = a.denominator.checked_mul(b.denominator).ok_or_else(over)?;
    Ok((Exact::of(numerator, denominator), left.1))
}

fn multiply(left: Term, right: Term, operator: &str, text: &str) -> std::result::Result<Term, Problem> {
    let unit = match (left.1, right.1, operator) {
        (unit, Unit::Plain, _) | (Unit::Plain, unit, "*") => unit,
        (a, b, "/") if a == b => Unit::Plain,
        (a, b, _) => return Err(Problem::new(format!("`{text}` joins {} and {}", a.name(), b.name()))),
    };
    let (a, mut b) = (left.0, right.0);
    if operator == "/" {
        if b.numerator == 0 {
            return Err(Problem::new(format!("`{text}` divides by zero")));
        }
        b = Exact { numerator: b.denominator, denominator: b.numerator };
    }
    let over = || Problem::new(format!("`{text}` is larger than 2^60"));
    let numerator = a.numerator.checked_mul(b.numerator).ok_or_else(over)?;
    let denominator = a.denominator.checked_mul(b.denominator).ok_or_else(over)?;
    Ok((Exact::of(numerator, denominator), unit))
}

/// One number with its unit, or one variable.
fn term(words: &[String], text: &str, scope: &Scope, depth: u32) -> std::result::Result<Term, Problem> {
    match words {
        [variable] if variable.starts_with('$') => {
            let value = look_up(&variable[1..], scope)?;
            let depth = depth.checked_sub(1).ok_or_else(|| {
                Problem::new(format!("`{variable}` refers to too many other variables, or to itself"))
            })?;
            sum(value, scope, depth)
        }
        [number] => Ok((decimal(number, text)?, Unit::Plain)),
        [number, unit] => with_unit(decimal(number, text)?, unit, text),
        _ => Err(not_a_quantity(text)),
    }
}

/// Text of a variable.
pub(crate) fn look_up<'a>(name: &str, scope: &'a Scope) -> std::result::Result<&'a str, Problem> {
    scope.get(name).map(String::as_str).ok_or_else(|| {
        let known: Vec<&str> = scope.keys().map(String::as_str).collect();
        Problem::unknown("variable", name, &known)
    })
}

fn with_unit(number: Exact, unit: &str, text: &str) -> std::result::Result<Term, Problem> {
    let (factor, kind) = if unit == "%" {
        (1, Unit::Percent)
    } else if let Some((_, factor)) = SIZES.iter().find(|(name, _)| *name == unit) {
        (*factor, Unit::Bytes)
    } else if let Some((_, factor)) = TIMES.iter().find(|(name, _)| *name == unit) {
        (*factor, Unit::Nanoseconds)
    } else {
        // Long names first, so that the suggestion for `kib` is `KiB` and not `k`.
        let mut known: Vec<&str> = SIZES.iter().chain(TIMES).map(|(name, _)| *name).collect();
        known.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let problem = Problem::unknown("unit", unit, &known);
        return Err(Problem { problem: format!("unknown unit `{unit}` in `{text}`"), ..problem });
    };
    let numerator = number
        .numerator
        .checked_mul(u128::from(factor))
        .ok_or_else(|| Problem::new(format!("`{text}` is larger than 2^60")))?;
    Ok((Exact::of(numerator, number.denominator), kind))
}

fn decimal(word: &str, text: &str) -> std::result::Result<Exact, Problem> {
    let digits = word.replace('_', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) || whole.len() + fraction.len() > 24 {
        return Err(not_a_quantity(text));
    }
    let numerator: u128 = format!("{whole}{fraction}").parse().map_err(|_| not_a_quantity(text))?;
    // At most 24 digits, so this power fits.
    Ok(Exact::of(numerator, 10u128.pow(fraction.len() as u32)))
}

fn not_a_quantity(text: &str) -> Problem {
    Problem::new(format!("`{text}` is not a number, size or duration"))
        .help("write it as `300_000`, `5 GiB`, `50 kB`, `1 s` or `$variable`")
}

/// Splits at spaces, around operators, and between a number and its unit.
fn words(text: &str) -> std::result::Result<Vec<String>, Problem> {
    if text.len() > 200 {
        return Err(Problem::new("a quantity is longer than 200 characters"));
    }
    let mut words: Vec<String> = Vec::new();
    let mut class = ' ';
    for character in text.chars() {
        let name_goes_on = class == '$' && (character.is_alphanumeric() || character == '-' || character == '_');
        let next = match character {
            _ if name_goes_on => '$',
            '$' => '$',
            '+' | '-' | '*' | '/' => 'o',
            '0'..='9' | '.' | '_' => '0',
            _ if character.is_whitespace() => ' ',
            _ => 'a',
        };
        if next != ' ' {
            match words.last_mut() {
                Some(word) if next == class && next != 'o' => word.push(character),
                _ => words.push(character.to_string()),
            }
        }
        class = next;
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_or_binary_as_written() {
        let bytes = |text| parse_bytes(text).unwrap();
        assert_eq!(bytes("5 GiB"), 5 << 30);
        assert_eq!(bytes("50 kB"), 50_000);
        assert_eq!(bytes("20G"), 20 << 30);
        assert_eq!(bytes("1.5 KiB"), 1536);
        assert_eq!(bytes("4096"), 4096);
        assert_eq!(parse_duration("10m").unwrap(), Duration::from_secs(600));
        assert_eq!(parse_duration("1.5 s").unwrap(), Duration::from_millis(1500));
        assert_eq!(parse_share("5%").unwrap(), 0.05);
    }

    #[test]
    fn variables_and_arithmetic_stay_exact() {
        let scope: Scope = [("number", "16"), ("files", "$number * 1024"), ("size", "1 GiB"), ("loop", "$loop")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        assert_eq!(evaluate("$files", Unit::Plain, &scope).unwrap(), 16_384);
        assert_eq!(evaluate("$size / 3 * 3", Unit::Bytes, &scope).unwrap(), 1 << 30);
        assert_eq!(evaluate("$size / 8 KiB", Unit::Plain, &scope).unwrap(), 131_072);
        assert_eq!(evaluate("1 KiB + 2 * 1 KiB - 1 B", Unit::Bytes, &scope).unwrap(), 3071);
        assert!(evaluate("$loop", Unit::Plain, &scope).unwrap_err().problem.contains("to itself"));
        assert!(evaluate("$size - 2 GiB", Unit::Bytes, &scope).unwrap_err().problem.contains("below zero"));
    }

    #[test]
    fn an_invalid_quantity_is_refused_with_an_explanation() {
        let error = |text| parse_bytes(text).unwrap_err();
        assert!(error("5 gib").contains("did you mean `GiB`?"), "{}", error("5 gib"));
        assert!(error("5 parsecs").contains("unknown unit `parsecs`"));
        assert!(error("10 s").contains("is a duration such as `1 s` where a size"));
        assert!(error("0.3 B").contains("not a whole number of bytes"));
        assert!(error("99999999 TiB").contains("larger than 2^60"));
        for text in ["", "GiB", "-1", "1 2", "1 GiB GiB", "* 2", "2 *", "+", "$", "1..2", "1e9", "١"] {
            assert!(parse_bytes(text).is_err(), "{text:?} was taken");
        }
    }
}
