//! The order of contenders within a block: shuffled, and the same again for the same seed.
//! In: the run's seed, the block, the workload. Out: a permutation.
//! The generator is written out here, since a library's may change and old runs must stay repeatable.

/// Order in which `count` contenders are taken for one workload of one block.
pub fn shuffled(seed: u64, block: u32, workload: usize, count: usize) -> Vec<usize> {
    let mut state = mix(seed ^ mix(u64::from(block) + 1) ^ mix((workload as u64 + 1) << 32));
    let mut order: Vec<usize> = (0..count).collect();
    // Fisher and Yates; the bias of the modulus is below 2^-50 for any count that a plan may have.
    for last in (1..count).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        order.swap(last, (mix(state) % (last as u64 + 1)) as usize);
    }
    order
}

/// Workloads of a block in order, each with its contenders in the order in which they are taken.
pub fn order_of_block(plan: &crate::ResolvedPlan, block: u32) -> Vec<(usize, Vec<usize>)> {
    (0..plan.works.len())
        .map(|work| {
            let contenders = plan.contenders_of(work);
            let order = shuffled(plan.seed, block, work, contenders.len());
            (work, order.into_iter().map(|place| contenders[place]).collect())
        })
        .collect()
}

/// Seed of the content of one trial: the same for every contender of a block, so that all do equal work.
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
    fn every_contender_comes_first_about_equally_often() {
        let mut first = [0; 6];
        for block in 0..6000 {
            first[shuffled(42, block, 1, 6)[0]] += 1;
        }
        assert!(first.iter().all(|&times| (850..1150).contains(&times)), "{first:?}");
    }
}
