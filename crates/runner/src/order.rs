//! The order of contenders within a round: shuffled, and reproducible from the seed.
//! In: the run's seed, the round, the workload. Out: a permutation.
//! The generator is implemented here, since a library's may change and old runs must stay repeatable.

/// Order of `count` contenders for one workload of one round.
pub fn shuffled(seed: u64, block: u32, workload: usize, count: usize) -> Vec<usize> {
    let mut state = mix(seed ^ mix(u64::from(block) + 1) ^ mix((workload as u64 + 1) << 32));
    let mut order: Vec<usize> = (0..count).collect();
    // Fisher-Yates; the bias of the modulus is below 2^-50 for any count that a plan may have.
    for last in (1..count).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        order.swap(last, (mix(state) % (last as u64 + 1)) as usize);
    }
    order
}

/// Workloads of a round in order, each with its contenders in their order.
pub fn order_of_block(plan: &crate::ResolvedPlan, block: u32) -> Vec<(usize, Vec<usize>)> {
    (0..plan.works.len())
        .map(|work| {
            let contenders = plan.contenders_of(work);
            let order = shuffled(plan.seed, block, work, contenders.len());
            (work, order.into_iter().map(|place| contenders[place]).collect())
        })
        .collect()
}

/// The order of `count` contenders for each phase of a round. Over as many phases as there are contenders (twice as many for an odd number)
/// each has each position, and follows each other one, equally often: Williams, Experimental designs balanced for the estimation of residual
/// effects of treatments, 1949.
pub fn turns(seed: u64, block: u32, workload: usize, count: usize, phases: usize) -> Vec<Vec<usize>> {
    let names = shuffled(seed, block, workload, count);
    // 0, 1, n-1, 2, n-2, ...: each distance between neighbours occurs once, and for an odd number once more in the mirror image.
    let zigzag = |place: usize| if place % 2 == 1 { place.div_ceil(2) } else { count - place / 2 };
    let row = |number: usize| {
        let (shift, is_mirrored) = if count % 2 == 1 { (number / 2, number % 2 == 1) } else { (number, false) };
        let mut row: Vec<usize> = (0..count).map(|place| names[(zigzag(place) + shift) % count]).collect();
        if is_mirrored {
            row.reverse();
        }
        row
    };
    let begin = mix(seed ^ mix(u64::from(block) + 0x2000)) as usize % (2 * count).max(1);
    (begin..begin + phases).map(row).collect()
}

/// The part of a device for each of `count` contenders, if it is split: parts differ, as the outer tracks of a hard disk are faster. Within
/// as many rounds as there are contenders each has every part once for each workload, and successive parts for the workloads of a round.
/// After that the order is drawn again.
pub fn parts(seed: u64, block: u32, workload: usize, count: usize) -> Vec<usize> {
    let (cycle, step) = (block / count.max(1) as u32, block as usize % count.max(1) + workload);
    let drawn = |what: usize| shuffled(mix(seed ^ 0x3000), cycle, what, count);
    let (names, shifts) = (drawn(0), drawn(1));
    names.iter().map(|name| (name + shifts[step % count]) % count).collect()
}

/// Seed of the content of one trial: the same for every contender of a round, so that all do equal work.
pub fn content_seed(seed: u64, block: u32, workload: usize) -> u64 {
    mix(seed ^ mix(u64::from(block) + 0x1000) ^ mix((workload as u64 + 0x1000) << 32))
}

/// SplitMix64's finaliser (Steele, Lea and Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_comes_once_and_the_seed_decides_the_order() {
        let order = shuffled(7, 3, 0, 12);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..12).collect::<Vec<_>>());
        assert_eq!(order, shuffled(7, 3, 0, 12));
        assert!((0..20).any(|block| shuffled(7, block, 0, 12) != order), "blocks differ");
    }

    #[test]
    fn turns_are_balanced_in_position_and_in_predecessor() {
        for count in 1..8 {
            let rows = if count % 2 == 1 { 2 * count } else { count };
            let all = turns(3, 1, 0, count, rows);
            for position in 0..count {
                let mut there: Vec<usize> = all.iter().map(|row| row[position]).collect();
                there.sort_unstable();
                let each = rows / count;
                assert_eq!(there, (0..count).flat_map(|one| vec![one; each]).collect::<Vec<_>>(), "{all:?}");
            }
            let mut pairs = std::collections::BTreeMap::new();
            all.iter()
                .flat_map(|row| row.windows(2))
                .for_each(|pair| *pairs.entry((pair[0], pair[1])).or_insert(0) += 1);
            assert_eq!(pairs.len(), count * (count - 1), "{all:?}");
            assert!(pairs.values().all(|times| *times == rows / count), "{pairs:?}");
        }
        assert_ne!(turns(3, 1, 0, 6, 6), turns(3, 2, 0, 6, 6), "rounds differ");
    }

    #[test]
    fn contenders_share_no_part_and_each_has_every_part_equally_often() {
        for count in 1..7 {
            for work in 0..3 {
                for cycle in 0..3 {
                    let mut seen = vec![vec![0; count]; count];
                    for block in cycle * count..(cycle + 1) * count {
                        let of = parts(5, block as u32, work, count);
                        of.iter().enumerate().for_each(|(contender, part)| seen[contender][*part] += 1);
                        let mut sorted = of.clone();
                        sorted.sort_unstable();
                        assert_eq!(sorted, (0..count).collect::<Vec<_>>(), "in one block");
                    }
                    assert!(seen.iter().flatten().all(|times| *times == 1), "{count}: {seen:?}");
                }
            }
        }
        assert_ne!(parts(5, 0, 0, 4), parts(5, 0, 1, 4), "workloads of a block have others");
        assert_eq!(parts(5, 2, 1, 4), parts(5, 2, 1, 4));
        let drawn: std::collections::BTreeSet<_> = (0..20).map(|seed| parts(seed, 0, 0, 5)).collect();
        assert!(drawn.len() > 5, "the seed draws them");
    }

    #[test]
    fn every_contender_comes_first_about_equally_often() {
        let mut first = [0; 6];
        for block in 0..6000 {
            first[shuffled(42, block, 1, 6)[0]] += 1;
        }
        assert!(first.iter().all(|&times| (850..1150).contains(&times)), "{first:?}");
    }
}
