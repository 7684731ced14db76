//! The short form of the simulation suite: the judge keeps its promises, within what few tables can show.
//! In: the suite of `examples/simulate`. Out: no broken promises.

#[path = "../examples/simulate/draw.rs"]
mod draw;
#[path = "../examples/simulate/picked.rs"]
mod picked;
#[path = "../examples/simulate/play.rs"]
mod play;
#[path = "../examples/simulate/recorded.rs"]
mod recorded;
#[path = "../examples/simulate/suite.rs"]
#[allow(dead_code)]
mod suite;

#[test]
fn the_judge_keeps_its_word_on_simulated_bake_offs() {
    let report = suite::run(suite::Effort::SHORT, &[]);
    assert!(report.broken.is_empty(), "{}\n{}", report.broken.join("\n"), report.text);
}
