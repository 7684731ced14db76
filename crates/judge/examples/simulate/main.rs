//! The simulation suite of the judge: does it keep its word?
//! In: `--short` for a form that takes seconds. Out: one table, as kept in `docs/judge.md`.
//! Exits with status 1 where a requirement is missed.

mod draw;
mod play;

use draw::{MODELS, Noise, Scenario};
use judge::{Policy, Until};
use play::{Rule, Tally, play};

fn main() {
    let tables: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(500);
    let what = std::env::args().nth(2).unwrap_or_default();
    let policy = |until| Rule::Stop(Policy { until, max_blocks: 15, ..Policy::default() });
    if what.contains('f') {
        for noise in MODELS {
            print!("{:22}", noise.name());
            for (k, m) in [(2, 1), (3, 1), (4, 1), (6, 1), (12, 1), (2, 10), (4, 10)] {
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
    }
    if what.contains('u') {
        for noise in [Noise::LogNormal] {
            for (k, m) in [(2, 1), (3, 1), (4, 1), (6, 1), (12, 1), (4, 10), (12, 10)] {
                let s = Scenario { uneven: true, ..Scenario::equal(noise, 0.05, k, m) };
                let n = if k * m > 12 { tables / 8 } else { tables };
                let t = play(&s, Rule::EveryLook(15), n, 1);
                println!(
                    "uneven {} {k}x{m}: {:.2}/{:.2}",
                    noise.name(),
                    100. * t.false_winners as f64 / n as f64,
                    100. * t.false_statements as f64 / n as f64
                );
            }
        }
    }
    if what.contains('q') {
        for n in [6, 10, 15, 30, 60] {
            for (k, m) in [(2, 1), (3, 1)] {
                let t = play(&Scenario::equal(Noise::LogNormal, 0.2, k, m), Rule::EveryLook(n), tables, 1);
                println!(
                    "{n} {k}x{m}: {:.2}/{:.2}",
                    100. * t.false_winners as f64 / tables as f64,
                    100. * t.false_statements as f64 / tables as f64
                );
            }
        }
    }
    if what.contains('p') {
        for noise in [Noise::Normal, Noise::LogNormal] {
            for (k, gap) in
                [(2, 1.1), (3, 1.1), (4, 1.1), (6, 1.1), (12, 1.1), (2, 1.3), (4, 1.3), (12, 1.3), (2, 1.5), (2, 2.0)]
            {
                let t = play(&Scenario::gap(noise, 0.05, k, gap), policy(Until::Winner), tables, 2);
                println!(
                    "  k={k} gap={gap}: right {:.1}% trials {} of {}",
                    100. * t.right as f64 / t.tables as f64,
                    t.median_trials(),
                    k * 10
                );
            }
        }
    }
    if what.contains('c') {
        for until in [Until::Winner, Until::Precision] {
            for noise in MODELS {
                print!("{until:?} {:20}", noise.name());
                let mut all = Tally::default();
                for size in [0.05, 0.15] {
                    for k in [2, 4, 12] {
                        let mut sum = Tally::default();
                        for gap in [1.0, 1.1, 1.3, 2.0] {
                            sum.add(play(&Scenario::gap(noise, size, k, gap), policy(until), tables / 4, 2));
                        }
                        print!(
                            " {k}: {:.1} {:.1} | {:.1} {:.1} ",
                            sum.cells[0].and(sum.cells[1]).percent(),
                            sum.cells[1].percent(),
                            sum.ratios[0].and(sum.ratios[1]).percent(),
                            sum.ratios[1].percent()
                        );
                        all.add(sum);
                    }
                }
                println!(
                    " all: {:.1} {:.1} | {:.1} {:.1} ",
                    all.cells[0].and(all.cells[1]).percent(),
                    all.cells[1].percent(),
                    all.ratios[0].and(all.ratios[1]).percent(),
                    all.ratios[1].percent()
                );
            }
        }
    }
}
