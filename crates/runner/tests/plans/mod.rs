//! What all plans of these tests have in common: a fixed number of rounds, and no repetitions.

use records::{ColdWay, Turns, custody::Terms};
use runner::{Place, PlannedContender, ResolvedPlan, Sampling, Work};

/// A plan of one work for some contenders at a place.
pub fn plan(title: &str, place: Place, contenders: Vec<PlannedContender>, work: Work, samples: u32) -> ResolvedPlan {
    ResolvedPlan {
        title: title.into(),
        terms: Terms::default(),
        place,
        contenders,
        works: vec![work],
        cold: ColdWay::Drop,
        turns: Turns::Trial,
        split: false,
        sampling: Sampling {
            samples: Some(samples),
            precision: 0.05,
            budget_seconds: None,
            screen_first: false,
            until: workload::Until::Precision,
            blocks: (3, 30),
            repeat_disturbed: false,
            steady: false,
        },
        seed: 20_261_120,
        shard: None,
        ages: None,
        filesystems: vec![],
        notes: vec![],
    }
}
