//! Noise of a real machine: what rounds of ext4 under four names took there.
//! In: `noise/*.csv`, as `scripts/answer --noise` writes them. Out: the logarithm of each time, by operation, round and contender.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::index::sample;

/// What was recorded in one condition: times of operations, by round and contender, on logarithms.
#[derive(Debug)]
pub struct Recorded {
    /// The condition.
    pub name: &'static str,
    operations: Vec<Vec<Vec<f64>>>,
}

/// What is read of a recording in one table: operations and contenders in an order of their own, from any round on.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    operations: Vec<usize>,
    contenders: Vec<usize>,
    first: usize,
}

impl Recorded {
    /// The recordings of all conditions.
    pub fn all() -> Vec<Recorded> {
        [
            ("quiet", include_str!("noise/quiet.csv")),
            ("neighbour", include_str!("noise/neighbour.csv")),
            ("memory", include_str!("noise/memory.csv")),
        ]
        .map(|(name, text)| Recorded::parsed(name, text))
        .into()
    }

    fn parsed(name: &'static str, text: &str) -> Recorded {
        let mut operations: Vec<(&str, Vec<Vec<f64>>)> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(',').skip(1);
            let operation = words.next().expect("a row names its operation");
            let logs = words.map(|word| word.parse().expect("a row has numbers")).collect();
            match operations.last_mut().filter(|(last, _)| *last == operation) {
                Some((_, rounds)) => rounds.push(logs),
                None => operations.push((operation, vec![logs])),
            }
        }
        Recorded { name, operations: operations.into_iter().map(|(_, rounds)| rounds).collect() }
    }

    /// Most contenders and operations of a table.
    pub fn most(&self) -> (usize, usize) {
        (self.operations[0][0].len(), self.operations.len())
    }

    /// Rounds that were recorded.
    pub fn rounds(&self) -> usize {
        self.operations[0].len()
    }

    /// Draws what a table reads.
    pub fn read(&self, contenders: usize, operations: usize, rng: &mut SmallRng) -> Reading {
        let (all, known) = self.most();
        Reading {
            operations: sample(rng, known, operations).into_vec(),
            contenders: sample(rng, all, contenders).into_vec(),
            first: rng.random_range(0..self.rounds()),
        }
    }

    /// The noise of one sample; after the last round the first one follows.
    pub fn log(&self, reading: &Reading, operation: usize, round: u32, contender: usize) -> f64 {
        let rounds = &self.operations[reading.operations[operation]];
        rounds[(reading.first + round as usize) % rounds.len()][reading.contenders[contender]]
    }
}
