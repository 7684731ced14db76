//! Changes in the state of a machine during a run.
//! In: rates that every round records, such as the read rate of the raw device. Out: the rounds at which one of them changed permanently.
//! Samples from before and after a change belong to different states of the machine.

use crate::numbers::{mean, t_p};

/// Fewest rounds on either side of a change: a single slow round is a disturbance.
const LEAST: usize = 3;
/// A stretch of fewer rounds after which the machine is as before is a disturbance, too: its rounds stay among the others, and what they differ by
/// counts as scatter. A state that lasts for seconds is not the one that a user will meet.
const PASSING: usize = 5;
/// Factor by which a rate must rise or fall; smaller changes are left to the component between sessions that the table estimates.
const FACTOR: f64 = 1.5;
/// Probability of a false change on a machine whose rates only scatter, over all stretches and rates together.
const LEVEL: f64 = 0.001;
/// The search ends after this many changes: a machine that changes more often has no stable states.
const MOST: usize = 4;

/// A rate that changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineChange {
    /// First block of the new state.
    pub block: u32,
    /// Index of the rate among those given to [`machine_changes`].
    pub rate: usize,
    /// Geometric mean of the rate since the change before, or since the beginning, in the rate's unit.
    pub before: f64,
    /// Geometric mean of the rate up to the next change, or up to the end.
    pub after: f64,
}

/// Finds the blocks at which a rate rose or fell permanently or for five rounds or more, in ascending order. Each rate is a list of block and value, in
/// any order; values that are not positive and finite count as missing.
///
/// Of all stretches of three values or more, up to the last value or followed by at least three, the one with the largest t against the
/// others counts if the means of the logarithms differ by a factor of 1.5 or more and Student's t (pooled variance) has p < 0.001 after
/// Bonferroni's correction for all stretches and rates. The parts are then searched again (circular binary segmentation: Olshen et al.,
/// Biostatistics 5, 2004), until at least four changes are found. A shorter stretch that ends is removed before the search goes on.
pub fn machine_changes(rates: &[Vec<(u32, f64)>]) -> Vec<MachineChange> {
    let mut known: Vec<Vec<(u32, f64)>> = rates.iter().map(|rate| logs(rate)).collect();
    let mut bounds = vec![0, u32::MAX];
    let mut found: Vec<(u32, usize)> = Vec::new();
    let mut passed = 0;
    while found.len() < MOST && passed < MOST {
        let parts = bounds.windows(2).filter_map(|part| stretch(&known, part[0], part[1]));
        let Some(most) = parts.min_by(|a, b| a.p.total_cmp(&b.p)) else { break };
        if let Some(to) = most.to.filter(|to| rounds(&known[most.rate], most.from, *to) < PASSING) {
            known.iter_mut().for_each(|rate| rate.retain(|(block, _)| !(most.from..to).contains(block)));
            passed += 1;
            continue;
        }
        for block in [Some(most.from), most.to].into_iter().flatten() {
            bounds.push(block);
            found.push((block, most.rate));
        }
        bounds.sort_unstable();
    }
    found.sort_unstable();
    let means = |(block, rate): (u32, usize)| {
        let at = bounds.partition_point(|&bound| bound < block);
        let of = |from: u32, to: u32| mean(&within(&known[rate], from, to)).exp();
        MachineChange { block, rate, before: of(bounds[at - 1], block), after: of(block, bounds[at + 1]) }
    };
    found.into_iter().map(means).collect()
}

/// The rates that differ between two runs, by index in both lists: their geometric means in the first and in the second run. A rate needs three
/// values in each, a factor of 1.5 between the means, and Student's t (pooled variance) with p < 0.001 after Bonferroni's correction for all
/// rates.
pub fn machine_differs(first: &[Vec<(u32, f64)>], second: &[Vec<(u32, f64)>]) -> Vec<(usize, f64, f64)> {
    let tried = first.len().min(second.len()) as f64;
    let pairs = first.iter().zip(second).enumerate();
    let found = pairs.filter_map(|(rate, (first, second))| Some((rate, difference(&logs(first), &logs(second))?)));
    found.filter(|(_, known)| known.0 * tried < LEVEL).map(|(rate, (_, before, after))| (rate, before, after)).collect()
}

/// The p-value of a difference by a factor of 1.5 or more, and both geometric means; `None` if it is smaller or there are too few values.
fn difference(first: &[(u32, f64)], second: &[(u32, f64)]) -> Option<(f64, f64, f64)> {
    let all = [first, second].concat();
    if first.len().min(second.len()) < LEAST {
        return None;
    }
    let (difference, t) = Sums::of(&all).compare((first.len(), all.len()));
    let of = |part: &[(u32, f64)]| mean(&part.iter().map(|known| known.1).collect::<Vec<f64>>()).exp();
    let p = t_p(t, all.len() as f64 - 2.0);
    (difference.abs() >= FACTOR.ln()).then(|| (p, of(first), of(second)))
}

fn logs(rate: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let measured = rate.iter().filter(|(_, value)| value.is_finite() && *value > 0.0);
    let mut logs: Vec<(u32, f64)> = measured.map(|&(block, value)| (block, value.ln())).collect();
    logs.sort_by_key(|known| known.0);
    logs
}

/// Blocks between two that have a value.
fn rounds(rate: &[(u32, f64)], from: u32, to: u32) -> usize {
    rate.chunk_by(|a, b| a.0 == b.0).filter(|chunk| (from..to).contains(&chunk[0].0)).count()
}

fn within(rate: &[(u32, f64)], from: u32, to: u32) -> Vec<f64> {
    rate.iter().filter(|(block, _)| (from..to).contains(block)).map(|known| known.1).collect()
}

/// Blocks in which a rate differed from what it was in the others.
struct Stretch {
    from: u32,
    /// First block after it; `None` where it lasts to the end.
    to: Option<u32>,
    rate: usize,
    p: f64,
}

/// The most significant stretch between two blocks; `None` where none is beyond doubt.
fn stretch(rates: &[Vec<(u32, f64)>], from: u32, to: u32) -> Option<Stretch> {
    let part = |rate: &Vec<(u32, f64)>| -> Vec<(u32, f64)> {
        rate.iter().copied().filter(|(block, _)| (from..to).contains(block)).collect()
    };
    let parts: Vec<Vec<(u32, f64)>> = rates.iter().map(part).collect();
    let all: Vec<Vec<(usize, usize)>> = parts.iter().map(|part| places(part)).collect();
    let tried = all.iter().map(Vec::len).sum::<usize>() as f64;
    let clearest = |rate: usize| {
        let (part, places) = (&parts[rate], &all[rate]);
        let sums = Sums::of(part);
        let counting = places.iter().map(|&place| (place, sums.compare(place)));
        let counting = counting.filter(|(_, (difference, _))| difference.abs() >= FACTOR.ln());
        let ((first, end), (_, t)) = counting.max_by(|a, b| a.1.1.abs().total_cmp(&b.1.1.abs()))?;
        let p = t_p(t, part.len() as f64 - 2.0);
        let to = part.get(end).map(|known| known.0);
        (p * tried < LEVEL).then(|| Stretch { from: part[first].0, to, rate, p })
    };
    (0..parts.len()).filter_map(clearest).min_by(|a, b| a.p.total_cmp(&b.p))
}

/// Possible start and end of a stretch: at least three values before it, in it, and after it if it ends.
fn places(part: &[(u32, f64)]) -> Vec<(usize, usize)> {
    let count = part.len();
    // Several values of one block stay on one side.
    let is_edge = |at: usize| at == count || part[at - 1].0 < part[at].0;
    let ends = |first: usize| (first + LEAST..=count).filter(move |&end| end == count || end + LEAST <= count);
    (LEAST..count)
        .flat_map(|first| ends(first).map(move |end| (first, end)))
        .filter(|&(first, end)| is_edge(first) && is_edge(end))
        .collect()
}

/// Cumulative sums and squares, so that every stretch costs the same.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(part: &[(u32, f64)]) -> Self {
        let centre = mean(&part.iter().map(|known| known.1).collect::<Vec<f64>>());
        let mut sums = vec![(0.0, 0.0)];
        for (_, log) in part {
            let (sum, squares) = sums[sums.len() - 1];
            sums.push((sum + log - centre, squares + (log - centre).powi(2)));
        }
        Sums(sums)
    }

    /// Compares a stretch with all other values: the difference of the means, and Student's t with pooled variance.
    fn compare(&self, (first, end): (usize, usize)) -> (f64, f64) {
        let count = self.0.len() - 1;
        let all = self.0[count];
        let (sum, squares) = (self.0[end].0 - self.0[first].0, self.0[end].1 - self.0[first].1);
        let (inside, outside) = ((end - first) as f64, (count - end + first) as f64);
        let (mean_inside, mean_outside) = (sum / inside, (all.0 - sum) / outside);
        let within = squares - inside * mean_inside.powi(2) + all.1 - squares - outside * mean_outside.powi(2);
        // Rates that are equal to the last digit do not prove zero variance.
        let pooled = (within / (count as f64 - 2.0)).max(1e-8);
        let difference = mean_inside - mean_outside;
        (difference, difference / (pooled * (1.0 / inside + 1.0 / outside)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use rand_distr::{Distribution, StandardNormal};

    /// A rate with noise that rises by a factor at a block.
    fn drawn(rng: &mut SmallRng, blocks: u32, noise: f64, from: u32, times: f64) -> Vec<(u32, f64)> {
        let mut value = |block: u32| {
            let z: f64 = StandardNormal.sample(rng);
            2.5e9 * (noise * z).exp() * if block >= from { times } else { 1.0 }
        };
        (0..blocks).map(|block| (block, value(block))).collect()
    }

    #[test]
    fn a_machine_that_only_scatters_seldom_seems_to_change() {
        let mut rng = SmallRng::seed_from_u64(1);
        let falsely = (0..2000).filter(|_| {
            let blocks = rng.random_range(6..40);
            let rates: Vec<_> = (0..3).map(|_| drawn(&mut rng, blocks, 0.2, 0, 1.0)).collect();
            !machine_changes(&rates).is_empty()
        });
        let falsely = falsely.count();
        assert!(falsely <= 20, "{falsely} of 2000");
    }

    #[test]
    fn a_fall_by_half_is_found_within_four_rounds_and_named() {
        let mut rng = SmallRng::seed_from_u64(2);
        let mut at_its_round = 0;
        for _ in 0..200 {
            let before = rng.random_range(6..20);
            let rates = vec![drawn(&mut rng, before + 4, 0.08, 0, 1.0), drawn(&mut rng, before + 4, 0.08, before, 0.5)];
            let found = machine_changes(&rates);
            let [change] = found[..] else { panic!("{before}: {found:?}") };
            assert_eq!(change.rate, 1);
            at_its_round += usize::from(change.block == before);
            assert!(change.block.abs_diff(before) <= 1, "{before}: {change:?}");
            assert!((0.35..0.7).contains(&(change.after / change.before)), "{change:?}");
        }
        assert!(at_its_round >= 190, "{at_its_round} of 200");
    }

    #[test]
    fn another_state_of_the_machine_is_found_between_two_runs() {
        let mut rng = SmallRng::seed_from_u64(4);
        let mut state = |rounds: u32, times: f64| {
            vec![drawn(&mut rng, rounds, 0.1, 0, times), drawn(&mut rng, rounds, 0.1, 0, 1.0), Vec::new()]
        };
        let (usual, slow) = (state(6, 1.0), state(5, 0.5));
        let found = machine_differs(&usual, &slow);
        let [(0, before, after)] = found[..] else { panic!("{found:?}") };
        assert!((0.4..0.62).contains(&(after / before)) && before > after, "{found:?}");
        let falsely = (0..500).filter(|_| !machine_differs(&state(6, 1.0), &state(5, 1.0)).is_empty()).count();
        assert_eq!(falsely, 0);
        assert_eq!(machine_differs(&usual, &state(2, 0.5)), [], "two rounds prove nothing");
        assert_eq!(machine_differs(&state(30, 1.0), &state(30, 1.3)), [], "a third faster is no other state");
        assert_eq!(machine_differs(&usual, &[]), []);
    }

    #[test]
    fn several_changes_are_found_and_one_slow_round_is_none() {
        let mut rng = SmallRng::seed_from_u64(3);
        let mut rate = drawn(&mut rng, 24, 0.05, 8, 0.5);
        rate[16..].iter_mut().for_each(|known| known.1 *= 2.0);
        let found: Vec<u32> = machine_changes(&[rate]).iter().map(|change| change.block).collect();
        assert_eq!(found, [8, 16]);
        let stairs: Vec<(u32, f64)> = drawn(&mut rng, 18, 0.05, 6, 0.5)
            .into_iter()
            .map(|(block, rate)| (block, if block >= 12 { rate / 2.0 } else { rate }))
            .collect();
        let found: Vec<u32> = machine_changes(&[stairs]).iter().map(|change| change.block).collect();
        assert_eq!(found, [6, 12]);
        let mut one_slow = drawn(&mut rng, 24, 0.05, 0, 1.0);
        one_slow[12].1 /= 4.0;
        assert_eq!(machine_changes(&[one_slow]), []);
    }

    #[test]
    fn a_stretch_of_a_few_rounds_is_a_change_only_while_it_lasts() {
        let mut rng = SmallRng::seed_from_u64(5);
        let changes = |rate: &[(u32, f64)], of: u32| {
            let rate: Vec<(u32, f64)> = rate.iter().copied().filter(|known| known.0 < of).collect();
            machine_changes(&[rate]).iter().map(|change| change.block).collect::<Vec<u32>>()
        };
        for passing in [3, 4] {
            let mut rate = drawn(&mut rng, 40, 0.05, 0, 1.0);
            rate[10..10 + passing].iter_mut().for_each(|known| known.1 *= 0.4);
            assert_eq!((changes(&rate, 10 + passing as u32), changes(&rate, 40)), (vec![10], vec![]), "{passing}");
            // What changes later for good is found beside it.
            rate[26..].iter_mut().for_each(|known| known.1 *= 0.4);
            assert_eq!(changes(&rate, 40), [26], "{passing}");
        }
    }

    #[test]
    fn small_few_and_missing_rates_are_no_change() {
        let mut rng = SmallRng::seed_from_u64(4);
        assert_eq!(machine_changes(&[drawn(&mut rng, 30, 0.01, 15, 1.3)]), [], "a rise by less than 1.5");
        assert_eq!(machine_changes(&[drawn(&mut rng, 10, 0.001, 8, 0.5)]), [], "two rounds after it");
        assert_eq!(machine_changes(&[]), []);
        let missing = vec![(0, 0.0), (1, f64::NAN), (2, f64::INFINITY), (3, 1.0)];
        assert_eq!(machine_changes(&[missing, Vec::new()]), []);
    }
}
