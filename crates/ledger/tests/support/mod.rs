//! Sample results of other programs, for import tests; and plans.

#![allow(dead_code, reason = "each test file uses the part that it needs")]

use records::plan::{Place, ResolvedPlan, Sampling, Until};
use std::path::Path;

/// Names of the samples: fio's first, then those with text fields.
#[allow(dead_code, reason = "not every test reads all of them")]
pub const SAMPLES: [&str; 8] = [
    "fio-write.json",
    "fio-randread-plus.json",
    "fio-randrw.json",
    "bonnie-1.03.csv",
    "bonnie-1.96.csv",
    "bonnie-2.00.csv",
    "dd-english.txt",
    "dd-german.txt",
];

/// The content of a sample.
pub fn sample(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    std::fs::read(path).expect("the sample is there")
}

/// A plan without contenders, with this number of samples.
pub fn plan(samples: u32) -> ResolvedPlan {
    ResolvedPlan {
        title: "nothing".into(),
        terms: records::custody::Terms::default(),
        place: Place::Directories(Vec::new()),
        contenders: Vec::new(),
        works: Vec::new(),
        cold: records::ColdWay::Remount,
        turns: records::Turns::Trial,
        split: false,
        sampling: Sampling {
            samples: Some(samples),
            precision: 0.05,
            budget_seconds: None,
            screen_first: false,
            until: Until::Precision,
            blocks: (3, 30),
            repeat_disturbed: true,
            steady: false,
        },
        seed: 7,
        shard: None,
        ages: None,
        filesystems: Vec::new(),
        notes: Vec::new(),
    }
}
