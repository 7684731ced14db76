//! Statements that a table supports, and those that it does not.
//! In: small tables with literal samples. Out: sentences, relations and notes as a reader sees them.

mod support;

use judge::{Backend, Certainty, Durability, Estimand, Mix, NoteKind, Relation, Sample, answer, judge_mix};
use support::{Bake, CALM, CALM_TOO, WILD, WILD_TOO};

#[test]
fn the_best_its_tie_and_how_much_worse_the_third_is() {
    let bake = Bake::new().time("create").at("xfs", 10.0, &CALM).at("ext4", 10.02, &CALM_TOO).at("btrfs", 16.0, &CALM);
    let sentence = bake.sentences();
    assert!(sentence.starts_with("For small-files create (cold) on this device: "), "{sentence}");
    assert!(sentence.contains("xfs and ext4 are as good as each other; btrfs 1.6x slower ("), "{sentence}");
    let judged = bake.judge();
    let ranking = &judged.rankings[0];
    assert!(!ranking.won);
    assert_eq!(ranking.front().count(), 2);
    let btrfs = &ranking.others[1];
    let interval = btrfs.interval.unwrap();
    assert_eq!((btrfs.relation, interval.of), (Relation::Worse, Estimand::Ratio));
    assert!(interval.low < 1.6 && 1.6 < interval.high, "{interval:?}");
}

#[test]
fn a_winner_of_a_rate_has_the_highest() {
    let bake = Bake::new().rate("read").at("ext4", 200.0, &CALM).at("btrfs", 100.0, &CALM_TOO);
    let sentence = bake.sentences();
    assert!(sentence.contains("ext4 is best; btrfs 2.0x slower ("), "{sentence}");
    assert!(bake.judge().rankings[0].won);
}

#[test]
fn a_wide_interval_is_unresolved_and_not_a_tie() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &WILD).at("xfs", 10.5, &WILD_TOO);
    assert_eq!(bake.judge().rankings[0].others[0].relation, Relation::Unresolved);
    let sentence = bake.sentences();
    assert!(sentence.contains("can't tell yet: ext4 is ahead (not proven), xfs at most"), "{sentence}");
}

#[test]
fn one_or_two_samples_allow_no_interval_and_say_so() {
    for (count, words) in
        [(1, "one sample each decides nothing and allows no interval"), (2, "two samples each decide nothing")]
    {
        let bake = Bake::new().time("create").at("ext4", 10.0, &CALM[..count]).at("xfs", 100.0, &CALM[..count]);
        let judged = bake.judge();
        assert!(judged.figures.iter().all(|figure| figure.interval.is_none()));
        assert_eq!(judged.rankings[0].others[0].relation, Relation::TooFew);
        assert!(judged.rankings[0].others[0].interval.is_none() && !judged.rankings[0].won);
        assert!(bake.sentences().contains(words), "{}", bake.sentences());
        assert!(judged.figures[0].notes.iter().any(|note| note.kind == NoteKind::FewSamples));
    }
}

/// Two samples of each of three contenders give a scatter estimate: they bound a ratio, but prove nothing.
#[test]
fn two_samples_of_three_contenders_bound_a_ratio_without_a_verdict() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &CALM[..2]).at("xfs", 100.0, &WILD[..2]).at(
        "btrfs",
        30.0,
        &WILD_TOO[..2],
    );
    let judged = bake.judge();
    for other in &judged.rankings[0].others {
        let interval = other.interval.expect("two samples are enough here");
        assert!(interval.low < other.ratio && other.ratio < interval.high, "{interval:?} around {}", other.ratio);
        assert_eq!(other.relation, Relation::Unresolved);
    }
    let group = answer(&bake.table).unwrap().groups[0].clone();
    let choice = group.take.expect("a bound allows a choice");
    assert_eq!((choice.shortfall.contender, choice.shortfall.at_most), (0, 1.0), "ext4 is far ahead");
    assert_eq!(choice.certainty, Certainty::Open, "no line shows it");
    assert!(group.avoid.is_empty(), "{:?}", group.avoid);
}

#[test]
fn one_sample_that_is_better_than_a_bound_allows_leaves_no_choice() {
    let with_btrfs = |level: f64| {
        let bake = Bake::new().time("create").at("ext4", 10.0, &CALM).at("xfs", 11.0, &CALM_TOO);
        let table = bake.at("btrfs", level, &CALM[..1]).table;
        answer(&table).unwrap().groups[0].take.clone()
    };
    assert_eq!(with_btrfs(20.0).map(|choice| choice.shortfall.contender), Some(0));
    assert_eq!(with_btrfs(5.0), None, "ext4 is twice as slow as btrfs was once");
}

#[test]
fn a_difference_below_three_percent_is_no_difference_however_certain() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &[1.0, 1.001, 0.999, 1.0, 1.001]).at(
        "xfs",
        10.2,
        &[1.0, 1.001, 0.999, 1.001, 1.0],
    );
    assert_eq!(bake.judge().rankings[0].others[0].relation, Relation::Tie);
}

#[test]
fn ten_passes_on_one_format_are_one_sample() {
    let passes = |trial: i64, level: f64| -> Vec<Sample> {
        let pass =
            |pass: u32| Sample { trial, pass, value: level * (1.0 + 0.001 * f64::from(pass)), ..Sample::default() };
        (0..10).map(pass).collect()
    };
    let bake = Bake::new()
        .time("read")
        .of("ext4", &[])
        .cell(|cell| cell.samples = passes(1, 10.0))
        .of("xfs", &[])
        .cell(|cell| cell.samples = passes(2, 20.0));
    let judged = bake.judge();
    assert_eq!((judged.figures[0].samples, judged.figures[0].values), (1, 10));
    assert!(judged.figures[0].interval.is_none(), "a tight interval of passes says nothing of the filesystem");
    assert_eq!(judged.rankings[0].others[0].relation, Relation::TooFew);
}

/// An outlier filter in a respected tool kept only the outliers, and its result was unused.
#[test]
fn an_outlier_is_flagged_by_its_trial_and_stays_in_every_figure() {
    let mut values = [10.0, 10.1, 9.9, 10.05, 9.95, 10.02, 9.98, 10.0, 10.0, 10.0];
    values[6] = 30.0;
    let judged = Bake::new().time("create").of("ext4", &values).judge();
    let figure = &judged.figures[0];
    assert_eq!(figure.outliers, vec![7], "the seventh trial, and no other");
    assert_eq!((figure.samples, figure.max), (10, 30.0));
    let mean = values.iter().sum::<f64>() / 10.0;
    assert!((figure.mean - mean).abs() < 1e-9, "the mean is over all samples");
    assert!(figure.unstable);
    assert!(figure.notes.iter().any(|note| note.text == "1 outlier, kept"));
}

#[test]
fn samples_without_an_outlier_have_none() {
    let judged = Bake::new().time("create").at("ext4", 10.0, &WILD).judge();
    assert!(judged.figures[0].outliers.is_empty());
}

/// A respected tool plotted zeros for percentiles that were never filled in.
#[test]
fn zeros_and_nothings_are_missing_and_never_zero() {
    let bake = Bake::new().time("create").of("ext4", &[10.0, 0.0, 10.2, f64::NAN, 9.9]).of("xfs", &[0.0, 0.0, 0.0]);
    let judged = bake.judge();
    let figure = &judged.figures[0];
    assert_eq!((figure.samples, figure.missing, figure.min), (3, 2, 9.9));
    assert!(figure.notes.iter().any(|note| note.text == "2 values missing"));
    assert_eq!(judged.figures.len(), 1, "a cell of zeros alone has no figure");
    assert!(bake.sentences().contains("ext4 was the only one measured"), "{}", bake.sentences());
}

/// Renaming a benchmark changed its result in a respected tool, because the order changed.
#[test]
fn names_and_the_order_of_contenders_cells_and_samples_change_nothing() {
    let orders: [[usize; 3]; 3] = [[0, 1, 2], [2, 0, 1], [1, 2, 0]];
    let levels = [(10.0, CALM), (13.0, CALM_TOO), (10.1, WILD)];
    let mut found = Vec::new();
    for (order, names) in orders.iter().zip([["a", "b", "c"], ["zfs", "x", "m"], ["b", "c", "a"]]) {
        let mut bake = Bake::new().time("create");
        for &which in order {
            bake = bake.at(names[which], levels[which].0, &levels[which].1);
            bake.table.cells.last_mut().unwrap().samples.rotate_left(which + 1);
        }
        bake.table.cells.rotate_left(order[0]);
        let judged = bake.judge();
        let ranking = &judged.rankings[0];
        let who =
            |contender: usize| names.iter().position(|name| bake.table.contenders[contender].name == *name).unwrap();
        let mut others: Vec<_> = ranking
            .others
            .iter()
            .map(|other| (who(other.contender), other.relation, format!("{:.9} {:.9?}", other.ratio, other.p)))
            .collect();
        others.sort_by_key(|other| other.0);
        found.push((who(ranking.best), others));
    }
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
}

#[test]
fn backends_are_ranked_apart() {
    let bake = Bake::new()
        .time("create")
        .at("ext4", 10.0, &CALM)
        .at("xfs", 20.0, &CALM_TOO)
        .at("old", 5.0, &CALM)
        .who("old", |contender| contender.backend = Backend::Kvm);
    let judged = bake.judge();
    assert_eq!(judged.rankings.len(), 2);
    assert!(judged.rankings.iter().all(|ranking| ranking.others.iter().all(|other| other.contender != 2)));
    assert!(bake.sentences().contains("in a virtual machine on this device: old was the only one measured"));
}

#[test]
fn ages_are_ranked_apart_and_held_against_each_other() {
    let aged = |of: &'static str| {
        move |contender: &mut judge::Contender| contender.age = judge::Age { name: "old 80%".into(), of: of.into() }
    };
    let bake = Bake::new()
        .rate("read")
        .at("ext4", 100.0, &CALM)
        .at("xfs", 100.0, &CALM)
        .at("ext4 old 80%", 50.0, &CALM)
        .at("xfs old 80%", 99.0, &CALM)
        .who("ext4 old 80%", aged("ext4"))
        .who("xfs old 80%", aged("xfs"));
    let judged = bake.judge();
    assert_eq!(judged.rankings.len(), 2);
    assert!(judged.rankings.iter().all(|ranking| ranking.others.len() == 1));
    assert_eq!((judged.ageing.len(), judged.ageing[0].others[0].relation), (2, Relation::Worse));
    assert_eq!(judged.ageing[1].others[0].relation, Relation::Tie);
    let sentence = bake.sentences();
    assert!(
        sentence.contains("and xfs are as good as each other")
            || sentence.contains("and ext4 are as good as each other"),
        "{sentence}"
    );
    assert!(sentence.contains("; after ageing (old 80%) xfs is best, ext4 2.0x slower ("), "{sentence}");
    assert!(sentence.contains("of ext4, fresh is best, old 80% 2.0x slower"), "{sentence}");
    assert!(sentence.contains("of xfs, fresh and old 80% are as good as each other"), "{sentence}");
}

#[test]
fn a_best_that_gives_up_safety_is_not_named_without_saying_so() {
    let bake = Bake::new()
        .time("create")
        .at("ext4-nobarrier", 10.0, &CALM)
        .at("ext4", 30.0, &CALM_TOO)
        .who("ext4-nobarrier", |c| c.durability = Durability { flushes: Some(false), ..Durability::default() })
        .who("ext4", |c| c.durability = Durability { flushes: Some(true), ..Durability::default() });
    let judged = bake.judge();
    assert!(judged.rankings[0].others[0].unequal_durability);
    let given_up = |figure: usize| judged.figures[figure].notes.iter().any(|note| note.text == "gives up flushes");
    assert!(given_up(0) && !given_up(1));
    let sentences = bake.sentences();
    assert!(sentences.contains("Not equally safe: ext4-nobarrier lacks flushes, which ext4 has."), "{sentences}");
}

#[test]
fn costs_stand_beside_the_verdict() {
    let bake = Bake::new()
        .time("create")
        .at("ext4", 10.0, &CALM)
        .cell(|cell| cell.facts.cpu_seconds = Some(2.0))
        .at("btrfs", 16.0, &CALM_TOO)
        .cell(|cell| cell.facts.cpu_seconds = Some(4.2));
    assert!(bake.sentences().contains("There btrfs used 2.1 times the CPU of ext4."), "{}", bake.sentences());
    let ticks = Bake::new()
        .time("create")
        .at("ext4", 10.0, &CALM)
        .cell(|cell| cell.facts.cpu_seconds = Some(0.01))
        .at("btrfs", 16.0, &CALM_TOO)
        .cell(|cell| cell.facts.cpu_seconds = Some(0.02));
    assert!(!ticks.sentences().contains("the CPU"), "one tick against two says nothing: {}", ticks.sentences());
}

#[test]
fn a_twin_is_hidden_and_its_difference_is_the_noise_floor() {
    let twin = |level: f64| {
        Bake::new()
            .time("create")
            .at("ext4", 10.0, &CALM)
            .at("xfs", 10.8, &CALM_TOO)
            .at("ext4 again", level, &[0.99, 1.004, 1.001, 0.997, 1.008])
            .who("ext4 again", |contender| contender.twin_of = Some("ext4".into()))
    };
    let quiet = twin(10.0).judge();
    assert!(quiet.noise_floor.unwrap() < 0.01 && quiet.smallest_effect == 0.03);
    assert_eq!(quiet.rankings[0].others.len(), 1, "the twin is in no ranking");
    assert_eq!(quiet.rankings[0].others[0].relation, Relation::Worse);
    let noisy = twin(11.0).judge();
    assert!((noisy.noise_floor.unwrap() - 0.1).abs() < 0.02);
    assert_ne!(noisy.rankings[0].others[0].relation, Relation::Worse, "8 % is less than a machine's own 10 %");
    assert!(noisy.notes[0].text.contains("entered twice, differed from itself by 10 %"), "{:?}", noisy.notes);
}

#[test]
fn notes_that_concern_a_figure_are_shown_beside_it() {
    let rising: Vec<f64> = (0..12).map(|block| 10.0 * 1.03_f64.powi(block) * CALM[block as usize % 5]).collect();
    let bake = Bake::new().time("create").of("ext4", &rising).cell(|cell| {
        cell.samples[3].disturbed = true;
        cell.facts.cache_served = Some(0.4);
        cell.facts.ceiling = Some(0.9);
        cell.facts.cache_below = true;
        cell.facts.remarks.push("O_DIRECT refused".into());
    });
    let judged = bake.judge();
    let texts: Vec<&str> = judged.figures[0].notes.iter().map(|note| note.text.as_str()).collect();
    for want in [
        "over the run",
        "1 of 12 disturbed",
        "40 % from a cache",
        "limited by the generator (90 % of it)",
        "a cache below this machine",
        "O_DIRECT refused",
        "unstable",
    ] {
        assert!(texts.iter().any(|text| text.contains(want)), "{want} is not in {texts:?}");
    }
    assert!((judged.figures[0].drift.unwrap() - (1.03_f64.powi(11) - 1.0)).abs() < 0.05);
    let two = Bake::new().time("read").of("xfs", &[10.0, 15.0, 10.1, 15.1, 9.9, 15.2, 10.0, 10.05, 14.9, 15.0]).judge();
    assert!(two.figures[0].notes.iter().any(|note| note.text == "two groups of samples, 50 % apart"));
}

#[test]
fn a_sentence_can_be_traced_to_its_trials() {
    let bake = Bake::new()
        .time("create")
        .at("ext4", 10.0, &CALM)
        .at("xfs", 12.0, &CALM_TOO)
        .time("read")
        .at("ext4", 5.0, &CALM);
    let judged = bake.judge();
    assert_eq!(judged.sentences[0].trials(&bake.table), (1..=10).collect::<Vec<i64>>());
    assert_eq!(judged.sentences[1].trials(&bake.table), (11..=15).collect::<Vec<i64>>());
}

#[test]
fn many_rows_are_corrected_for_together() {
    let gap = [1.0, 1.025, 0.978, 1.012, 0.984];
    let row = |bake: Bake, name: &str| {
        bake.time(name).at("ext4", 10.0, &gap).at("xfs", 11.2, &[0.98, 1.01, 1.02, 0.975, 1.015])
    };
    let alone = row(Bake::new(), "create").judge();
    assert_eq!(alone.rankings[0].others[0].relation, Relation::Worse);
    let mut many = row(Bake::new(), "create");
    for other in 0..200 {
        many = many.time(&format!("other{other}")).at("ext4", 10.0, &WILD).at("xfs", 10.0, &WILD_TOO);
    }
    let many = many.judge();
    assert!(many.rankings[0].level < alone.rankings[0].level / 50.0);
    assert_ne!(many.rankings[0].others[0].relation, Relation::Worse);
}

#[test]
fn a_table_that_contradicts_itself_is_refused_with_the_place() {
    let mut bake = Bake::new().time("create").at("ext4", 10.0, &CALM);
    bake.table.cells[0].contender = 7;
    let error = judge::judge(&bake.table).unwrap_err().to_string();
    assert!(error.contains("cell 0") && error.contains("contender 7"), "{error}");
    let twice = Bake::new().time("create").at("ext4", 10.0, &CALM).at("ext4", 10.0, &CALM);
    assert!(judge::judge(&twice.table).unwrap_err().to_string().contains("create of ext4"));
}

#[test]
fn a_judgement_can_be_written_as_json_and_read_again() {
    let judged = Bake::new().time("create").at("ext4", 10.0, &CALM).at("xfs", 12.0, &CALM_TOO).judge();
    let text = serde_json::to_string(&judged).unwrap();
    let back: judge::Judgement = serde_json::from_str(&text).unwrap();
    assert_eq!(back.sentences, judged.sentences);
    assert_eq!(back.rankings.len(), 1);
}

#[test]
fn stolen_processor_time_is_no_difference_and_the_answer_says_that_it_was_corrected() {
    // ext4 loses much in even rounds, XFS in odd ones; each takes three times that share longer, and nothing else differs.
    let taken = |contender: usize, round: usize| if round % 2 == contender { 0.1 } else { 0.01 * (round % 3) as f64 };
    let times = |contender: usize| -> Vec<f64> {
        let small = [1.0, 1.002, 0.999, 1.001, 0.998];
        (0..8).map(|round| (3.0 * taken(contender, round)).exp() * small[(round + contender) % 5]).collect()
    };
    let mut bake = Bake::new().time("create").of("ext4", &times(0)).of("xfs", &times(1));
    assert_eq!(
        bake.judge().rankings[0].others[0].relation,
        Relation::Unresolved,
        "it is not known that time was stolen"
    );
    assert_eq!(answer(&bake.table).unwrap().confidence.corrected, (0, 1));
    for (contender, cell) in bake.table.cells.iter_mut().enumerate() {
        cell.samples.iter_mut().enumerate().for_each(|(round, sample)| sample.stolen = taken(contender, round));
    }
    let judged = bake.judge();
    assert_eq!(judged.rankings[0].others[0].relation, Relation::Tie);
    let text = "1 of 1 lines are compared as if the hypervisor had taken the same processor time from all (it explains up to 26 % of a sample)";
    assert!(judged.notes.iter().any(|note| note.text.starts_with(text)), "{:?}", judged.notes);
    assert_eq!(answer(&bake.table).unwrap().confidence.corrected, (1, 1));
    assert!((judged.figures[0].median - times(0)[0]).abs() < 0.2, "figures stay as measured");
    let mix = judge_mix(&bake.table, &Mix::parse("create=2").unwrap()).unwrap();
    let [first, second] = [0, 1].map(|at| mix.times[at].seconds);
    assert!((first / second - 1.0).abs() < 0.01, "a mix as well: {first} and {second}");
}
