//! The simulation suite of the judge: does it keep its word?
//! In: `--short` for a form that takes seconds. Out: one table, as kept in `docs/judge.md`.
//! Exits with status 1 where a requirement is missed.

mod draw;
mod play;

use draw::{MODELS, Noise, Scenario};
use judge::{Policy, Until};
use play::{Rule, play};

fn main() {
    let tables: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(500);
    let policy = |until| Rule::Stop(Policy { until, max_blocks: 15, ..Policy::default() });
    println!("ever false, 3..30 looks");
    for noise in MODELS {
        print!("{:22}", noise.name());
        for (k, m) in [(2, 1), (3, 1), (4, 1), (12, 1), (2, 10), (4, 10)] {
            let n = if k * m > 12 { tables / 4 } else { tables };
            let t = play(&Scenario::equal(noise, 0.05, k, m), Rule::EveryLook(30), n, 1);
            print!(
                " {k}x{m}: {:.1}/{:.1} ",
                100. * t.false_winners as f64 / n as f64,
                100. * t.false_statements as f64 / n as f64
            );
        }
        println!();
    }
    println!("power/coverage stop");
    for (name, until) in [("winner", Until::Winner), ("precision", Until::Precision)] {
        for noise in [
            Noise::Normal,
            Noise::LogNormal,
            Noise::Bimodal,
            Noise::HeavyTailed,
            Noise::Outliers,
            Noise::Autocorrelated,
            Noise::Drift,
        ] {
            println!("{name} {}", noise.name());
            for (k, gap) in [
                (2, 1.0),
                (2, 1.1),
                (2, 1.3),
                (2, 2.0),
                (4, 1.0),
                (4, 1.1),
                (4, 1.3),
                (4, 2.0),
                (12, 1.0),
                (12, 1.1),
                (12, 1.3),
                (12, 2.0),
            ] {
                let s = Scenario::gap(noise, 0.05, k, gap);
                let t = play(&s, policy(until), tables / 2, 2);
                println!(
                    "  k={k} gap={gap}: right {:.1}% false {:.1} trials {} of {} cells {:.1}% ratios {:.1}%",
                    100. * t.right as f64 / t.tables as f64,
                    100. * t.false_statements as f64 / t.tables as f64,
                    t.median_trials(),
                    k * 10,
                    100. * t.cells.1 as f64 / t.cells.0 as f64,
                    100. * t.ratios.1 as f64 / t.ratios.0 as f64
                );
            }
        }
    }
}
