#[path = "simulate/draw.rs"] #[allow(dead_code)] mod draw;
#[path = "simulate/play.rs"] #[allow(dead_code)] mod play;
use draw::*; use play::*;
use judge::Policy;
fn main() {
    let t: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(400);
    let show = |name: &str, s: Scenario, r: Rule| {
        let x = play(&s, r, t, 5);
        let pc = |a: u64, b: u64| 100.0 * a as f64 / b.max(1) as f64;
        let mut f = x.forecasts.clone(); f.sort_by(f64::total_cmp);
        let q = |p: f64| f.get((f.len() as f64 * p) as usize).copied().unwrap_or(f64::NAN);
        println!("{name:42} win {:5.1} false {:5.1} lines {:5.1} ties {:5.1} | right {:5.1} trials {:4} | bound wrong {:5.1} certain {:5.1} wrong {:5.1} | fc {:.2} [{:.2} {:.2}] n{} cov {:.1} res {:.1}",
            pc(x.false_winners,x.tables), pc(x.false_statements,x.tables), pc(x.false_lines,x.lines), pc(x.false_ties,x.tables), pc(x.right,x.tables), x.median_trials(),
            pc(x.wrong_bounds,x.choices), pc(x.certain_choices,x.choices), pc(x.wrong_choices,x.choices), q(0.5), q(0.25), q(0.75), f.len(), x.ratios[0].and(x.ratios[1]).percent(), pc(x.resembling, x.tables));
    };
    let stop = |cap: u32, resolution: f64| Rule::Stop(Policy { max_blocks: cap, resolution, ..Policy::default() });
    let oracle = |cap: u32, resolution: f64| Rule::Oracle(Policy { max_blocks: cap, resolution, ..Policy::default() });
    show("equal 6x7 at 3", Scenario::equal(Noise::LogNormal,0.05,6,7), Rule::Fixed(3));
    show("equal 6x7 30 looks", Scenario::equal(Noise::LogNormal,0.05,6,7), Rule::EveryLook(30));
    show("equal 2x1 30 looks", Scenario::equal(Noise::LogNormal,0.05,2,1), Rule::EveryLook(30));
    show("equal 6x1 30 looks", Scenario::equal(Noise::LogNormal,0.05,6,1), Rule::EveryLook(30));
    show("wild5 6x7 at 3", Scenario::wild(6,7,5.0), Rule::Fixed(3));
    show("wild5 6x7 30 looks", Scenario::wild(6,7,5.0), Rule::EveryLook(30));
    show("wild10 6x7 30 looks", Scenario::wild(6,7,10.0), Rule::EveryLook(30));
    show("wild5 6x1 at 3", Scenario::wild(6,1,5.0), Rule::Fixed(3));
    show("wild5 6x1 at 5", Scenario::wild(6,1,5.0), Rule::Fixed(5));
    show("wild5 6x1 30 looks", Scenario::wild(6,1,5.0), Rule::EveryLook(30));
    show("wild5 3x1 30 looks", Scenario::wild(3,1,5.0), Rule::EveryLook(30));
    let mut kept = Scenario::equal(Noise::LogNormal,0.05,4,7); kept.kept_state = 0.7;
    show("kept state .7 4x7 30 looks", kept, Rule::EveryLook(30));
    for cv in [0.02,0.05,0.1,0.2] {
        show(&format!("quick {cv} stop .1"), Scenario::like_a_quick_run(cv), stop(60,0.1));
        show(&format!("quick {cv} oracle .1"), Scenario::like_a_quick_run(cv), oracle(60,0.1));
        show(&format!("quick {cv} stop .3"), Scenario::like_a_quick_run(cv), stop(60,0.3));
        show(&format!("quick {cv} oracle .3"), Scenario::like_a_quick_run(cv), oracle(60,0.3));
        show(&format!("quick {cv} fixed 3"), Scenario::like_a_quick_run(cv), Rule::Fixed(3));
    }
    let mut tie = Scenario::gap(Noise::LogNormal,0.1,3,1.1); tie.twin = true;
    show("tie gap1.1 cv10 twin 30 looks", tie, Rule::EveryLook(30));
    show("gap 1.1 2", Scenario::gap(Noise::LogNormal,0.05,2,1.1), stop(15,0.0));
    show("gap 1.1 6", Scenario::gap(Noise::LogNormal,0.05,6,1.1), stop(15,0.0));
    show("gap 1.3 2", Scenario::gap(Noise::LogNormal,0.05,2,1.3), stop(15,0.0));
    show("gap 1.3 4", Scenario::gap(Noise::LogNormal,0.05,4,1.3), stop(15,0.0));
    show("gap 1.3 12", Scenario::gap(Noise::LogNormal,0.05,12,1.3), stop(15,0.0));
}
