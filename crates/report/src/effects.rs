//! Effects of options as a picture: how many times faster each makes the work, with its interval.
//! In: groups of effects, and the margin up to which a difference does not matter. Out: a standalone SVG, or lines for a terminal; both on
//! one logarithmic scale with 1 in the middle.

use crate::chart::round;
use crate::number;
use crate::terminal::{left, right};
use crate::wrap::cut;
use maud::{Markup, PreEscaped, html};
use unicode_width::UnicodeWidthStr;

/// Least and most times that the scale reaches from its middle; what is beyond is cut with an arrow.
const REACH: [f64; 2] = [1.1, 4.0];
/// Where the scale may be marked, from 1 upwards.
const MARKS: [f64; 7] = [1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0];

/// Width of the drawing, that of a phone, in pixels; its left and right margin; space between two figures of the scale.
const WIDTH: f64 = 380.0;
const SIDE: f64 = 16.0;
const APART: f64 = 40.0;
/// Heights: the title, a heading, an effect (its name above its interval), the scale, the legend.
const TITLE: f64 = 48.0;
const HEADING: f64 = 44.0;
const EFFECT: f64 = 40.0;
const SCALE: f64 = 28.0;
const LEGEND: f64 = 26.0;
/// Colours: faster by more than the margin, slower by more, and what may be either. Text, lines, the margin's band.
const FASTER: &str = "#0072b2";
const SLOWER: &str = "#b34700";
const OPEN: &str = "#6b6b6b";
const INK: &str = "#222222";
const BAND: &str = "#e4efe4";

/// Least and most columns for an interval in a terminal, and least columns for a long name.
const COLUMNS: [usize; 2] = [21, 41];
const LEAST_NAME: usize = 8;
/// Columns of a figure, and of a line without its name and interval.
const FIGURE: usize = 6;
const BESIDE: usize = FIGURE + 6;

/// How many times faster something makes the work.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// What it is: `mkfs.log_size=128m`.
    pub name: String,
    /// The estimate.
    pub ratio: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
}

/// Effects under one heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Effects {
    /// The heading, and in a sentence what the effects come from.
    pub heading: (String, String),
    /// The effects, in the order in which they are shown.
    pub effects: Vec<Effect>,
}

/// A logarithmic scale that reaches equally far on both sides of 1.
struct Scale(f64);

impl Scale {
    fn of(groups: &[Effects]) -> Self {
        let effects = groups.iter().flat_map(|group| &group.effects);
        let furthest = effects.flat_map(|effect| [effect.interval.0, effect.interval.1, effect.ratio]);
        let furthest = furthest.map(|ratio| ratio.ln().abs()).filter(|log| log.is_finite()).fold(0.0, f64::max);
        Self((furthest * 1.05).clamp(REACH[0].ln(), REACH[1].ln()))
    }

    /// Position of a ratio between 0 and 1, and whether it is on the scale.
    fn at(&self, ratio: f64) -> (f64, bool) {
        let share = ratio.max(f64::MIN_POSITIVE).ln() / self.0;
        (0.5 + share.clamp(-1.0, 1.0) / 2.0, share.abs() <= 1.0)
    }

    /// Its place in the drawing.
    fn x(&self, ratio: f64) -> f64 {
        round(SIDE + self.at(ratio).0 * (WIDTH - 2.0 * SIDE))
    }
}

/// The drawing as a standalone SVG. `margin` is a share: 0.03 for 3 %.
pub fn svg(title: &str, groups: &[Effects], margin: f64) -> String {
    let scale = Scale::of(groups);
    let mut end = TITLE;
    let drawn: Vec<Markup> = groups
        .iter()
        .map(|group| {
            let top = end;
            end += HEADING + EFFECT * group.effects.len() as f64 + SCALE;
            drawn(group, top, &scale, margin)
        })
        .collect();
    let height = end + LEGEND;
    let drawing = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(height) viewBox={ "0 0 " (WIDTH) " " (height) } font-family="Inter, system-ui, sans-serif" font-size="13" role="img" aria-label=(title) {
            title { (title) }
            rect width=(WIDTH) height=(height) fill="#ffffff" {}
            text x=(SIDE) y="26" font-size="15" font-weight="600" fill=(INK) { (title) }
            @for group in &drawn { (group) }
            text x=(SIDE) y=(height - 12.0) font-size="11" fill=(OPEN) {
                "Lines: 95 % intervals. Band: within " (number::whole_percent(margin)) ", of no matter."
            }
        }
    };
    drawing.into_string()
}

fn drawn(group: &Effects, top: f64, scale: &Scale, margin: f64) -> Markup {
    let first = top + HEADING;
    let end = first + EFFECT * group.effects.len() as f64;
    let x = |ratio: f64| scale.x(ratio);
    let (left, right) = (x(1.0 / (1.0 + margin)), x(1.0 + margin));
    html! {
        text x=(SIDE) y=(top + 18.0) font-weight="600" fill=(INK) { (group.heading.0) }
        text x=(SIDE) y=(top + 34.0) font-size="11" fill=(OPEN) { (group.heading.1) }
        rect x=(left) y=(first) width=(round(right - left)) height=(end - first) fill=(BAND) {}
        line x1=(x(1.0)) y1=(first) x2=(x(1.0)) y2=(end) stroke="#9a9a9a" {}
        @for (mark, at) in marks(scale) {
            line x1=(at) y1=(end) x2=(at) y2=(end + 4.0) stroke="#9a9a9a" {}
            text x=(at) y=(end + 17.0) font-size="11" text-anchor="middle" fill=(OPEN) { (mark) }
        }
        @for (at, effect) in group.effects.iter().enumerate() {
            (line(effect, first + EFFECT * at as f64, scale, margin))
        }
    }
}

/// Figures of the scale that have room, with their places: away from 1 on both sides.
fn marks(scale: &Scale) -> Vec<(String, f64)> {
    let mut shown: Vec<(String, f64)> = Vec::new();
    for mark in MARKS.into_iter().filter(|mark| scale.at(*mark).1) {
        let sides = if mark == 1.0 { vec![1.0] } else { vec![mark, 1.0 / mark] };
        let places: Vec<f64> = sides.iter().map(|side| scale.x(*side)).collect();
        let is_free = |place: &f64| {
            shown.iter().all(|(_, other)| (place - other).abs() >= APART) && *place > SIDE && *place < WIDTH - SIDE
        };
        if places.iter().all(is_free) {
            shown.extend(sides.iter().zip(places).map(|(side, place)| (times(*side), place)));
        }
    }
    shown
}

fn line(effect: &Effect, top: f64, scale: &Scale, margin: f64) -> Markup {
    let x = |ratio: f64| scale.x(ratio);
    let y = top + 28.0;
    let (low, high) = effect.interval;
    let colour = if low > 1.0 + margin {
        FASTER
    } else if high < 1.0 / (1.0 + margin) {
        SLOWER
    } else {
        OPEN
    };
    let arrow = |at: f64, to: f64| {
        html! { path d={ "M" (at - to) " " (y - 4.0) " L" (at) " " (y) " L" (at - to) " " (y + 4.0) } fill="none" stroke=(colour) stroke-width="2" {} }
    };
    html! {
        text x=(SIDE) y=(top + 15.0) fill=(INK) { (effect.name) }
        text x=(WIDTH - SIDE) y=(top + 15.0) text-anchor="end" fill=(INK) {
            (times(effect.ratio)) tspan fill=(OPEN) font-size="11" { " (" (bare(low)) " to " (bare(high)) ")" }
        }
        line x1=(x(low)) y1=(y) x2=(x(high)) y2=(y) stroke=(colour) stroke-width="2" {}
        @if !scale.at(low).1 { (arrow(x(low), -5.0)) }
        @if !scale.at(high).1 { (arrow(x(high), 5.0)) }
        circle cx=(x(effect.ratio)) cy=(y) r="4.5" fill=(colour) stroke="#ffffff" {}
        (PreEscaped("\n"))
    }
}

/// One of the groups as lines of at most `width` columns, if that is 60 or more: name, estimate, and the interval with `o` at the estimate and `|`
/// at 1. Lines of all groups have the same scale and the same columns.
pub fn lines(group: &Effects, groups: &[Effects], width: usize) -> Vec<String> {
    let scale = Scale::of(groups);
    let names = groups.iter().flat_map(|group| &group.effects).map(|effect| effect.name.width());
    let longest = names.max().unwrap_or(0);
    let columns = width.saturating_sub(longest + BESIDE).clamp(COLUMNS[0], COLUMNS[1]);
    let columns = columns - (columns + 1) % 2;
    let names = longest.min(width.saturating_sub(columns + BESIDE).max(LEAST_NAME));
    let at = |ratio: f64| (scale.at(ratio).0 * (columns - 1) as f64).round() as usize;
    let each = group.effects.iter().map(|effect| {
        let (low, high) = effect.interval;
        let mut bar = vec![' '; columns];
        bar[at(low)..=at(high)].fill('-');
        bar[columns / 2] = '|';
        bar[at(effect.ratio)] = 'o';
        let ends = [(low, 0, '<'), (high, columns - 1, '>')];
        ends.into_iter().filter(|(ratio, ..)| !scale.at(*ratio).1).for_each(|(_, end, sign)| bar[end] = sign);
        let bar: String = bar.into_iter().collect();
        let (name, figure) = (left(&cut(&effect.name, names), names), right(&times(effect.ratio), FIGURE));
        format!("  {name}  {figure}  {}", bar.trim_end())
    });
    each.collect()
}

fn times(ratio: f64) -> String {
    format!("{}x", bare(ratio))
}

fn bare(ratio: f64) -> String {
    if ratio >= 9.995 { format!("{ratio:.0}") } else { format!("{ratio:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(name: &str, ratio: f64, interval: (f64, f64)) -> Effect {
        Effect { name: name.into(), ratio, interval }
    }

    fn group(effects: Vec<Effect>) -> Effects {
        Effects { heading: ("In the search".into(), "No claim.".into()), effects }
    }

    #[test]
    fn a_line_has_its_estimate_between_the_ends_of_its_interval_and_1_in_the_middle() {
        let group = group(vec![effect("alpha", 1.2, (1.1, 1.3)), effect("beta", 1.0, (0.9, 1.1))]);
        let lines = lines(&group, std::slice::from_ref(&group), 80);
        assert_eq!(lines[0].find('o').map(|at| &lines[0][at - 1..at + 2]), Some("-o-"), "{lines:?}");
        assert_eq!(lines[0].find('|').map(|at| lines[0].find('-') > Some(at)), Some(true), "above 1: {lines:?}");
        assert!(lines[1].contains("-o-") && !lines[1].contains('|'), "the estimate hides the middle: {lines:?}");
        assert_eq!(lines[0].find('|'), lines[1].find('o'), "one scale: {lines:?}");
        let long = Effects { effects: vec![effect("a much longer name", 1.2, (1.1, 1.3))], ..group.clone() };
        let both = [group, long];
        let places = both.each_ref().map(|group| super::lines(group, &both, 80)[0].find('|'));
        assert_eq!(places[0], places[1], "and the same columns in all groups");
    }

    #[test]
    fn what_is_beyond_the_scale_ends_in_an_arrow_and_long_names_are_cut() {
        let wide = effect(&"mkfs.directory_block_size=".repeat(3), 9.0, (0.01, 90.0));
        let group = group(vec![wide]);
        let lines = lines(&group, std::slice::from_ref(&group), 60);
        assert!(lines[0].ends_with('>') && lines[0].contains('<') && lines[0].contains('~'), "{lines:?}");
        assert!(lines[0].width() <= 60, "{lines:?}");
        assert!(super::lines(&group, std::slice::from_ref(&group), 20)[0].starts_with("  mkfs.di~  "));
        assert_eq!(svg("t", std::slice::from_ref(&group), 0.03).matches("<path").count(), 2);
    }

    #[test]
    fn colours_follow_the_interval_and_names_are_escaped() {
        let effects = vec![effect("a<b", 1.2, (1.1, 1.3)), effect("c", 0.8, (0.7, 0.9)), effect("d", 1.2, (1.0, 1.4))];
        let drawing = svg("Effects", &[group(effects)], 0.03);
        for (colour, marks) in [(FASTER, 2), (SLOWER, 2)] {
            assert_eq!(drawing.matches(colour).count(), marks, "{colour}: {drawing}");
        }
        assert!(drawing.contains("a&lt;b") && !drawing.contains("a<b"), "{drawing}");
        assert!(drawing.contains("width=\"380\""), "as wide as a phone");
    }
}
