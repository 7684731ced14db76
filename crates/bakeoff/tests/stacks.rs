//! Layers between filesystems and their disks, built in guests: each is what was asked for, and nothing of one outlives its trial.

mod machines;
mod support;

use machines::{ENDLESS, KERNEL, RUN, booted, clean, guests, killed, place_with};
use std::sync::MutexGuard;
use std::time::Duration;
use support::{Place, trials};

/// The lock, if guests can run here with every layer; otherwise the test counts as left out, with the reason.
fn turn() -> Option<MutexGuard<'static, ()>> {
    let turn = guests()?;
    let tools = layers::shipped().iter().flat_map(|layer| &layer.tools);
    match tools.into_iter().find(|tool| system::command::find_program(&tool.program).is_none()) {
        None => Some(turn),
        Some(tool) => {
            prerequisites::leave_out(
                "layers",
                &format!("{} is not installed (apt-get install {})", tool.program, tool.package),
            );
            None
        }
    }
}

/// Shipped layers with each value of their options; options of one layer that are independent are combined.
fn each_value(of: impl Iterator<Item = &'static layers::Layer>) -> Vec<String> {
    let of_layer = |layer: &'static layers::Layer| {
        let most = layer.options.values().map(|choice| choice.values.len()).max().unwrap_or(1);
        (0..most).map(move |at| {
            let value = |(option, choice): (&String, &layers::Choice)| {
                let values: Vec<&String> = choice.values.keys().collect();
                format!(":{option}={}", values[at % values.len()])
            };
            layer.name.clone() + &layer.options.iter().map(value).collect::<String>()
        })
    };
    of.flat_map(of_layer).collect()
}

/// The words of a run on images on which each of these stacks can be built.
fn run_on(stacks: &str) -> String {
    let least = |stack| layers::Stack::parse(stack).expect("a stack").least_mib().map_or(0, |need| need.1);
    let mib = stacks.split(',').map(least).max().unwrap_or(0).max(512);
    RUN.replace("256MiB", &format!("{mib}MiB"))
}

/// Runs each of these stacks once, and looks at what its own tools showed.
fn built_and_shown(place: &Place, stacks: &[String], kernel: &str) {
    let list = stacks.join(",");
    let output = place.bakeoff(&format!("{} --fs ext2 --kernel {kernel} --no-twin --axis stack={list}", run_on(&list)));
    let trials = trials(place);
    for stack in stacks {
        let start = format!("ext2 on {stack}");
        let is_it =
            |label: &str| label.strip_prefix(&start).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        let trial = trials.iter().find(|(label, _)| is_it(label));
        let (_, trial) = trial.unwrap_or_else(|| panic!("{stack} has no trial: {}", output.err));
        assert_eq!(trial.reason, None, "{stack}");
        let options = &trial.found.as_ref().expect("it was set up").options;
        assert!(options.iter().any(|one| one.asked == format!("layer {stack}")), "{stack}: {options:?}");
    }
}

#[test]
fn every_shipped_layer_is_built_with_each_value_of_its_options_and_shown_by_its_own_tools() {
    let Some(_turn) = turn() else { return };
    let place = Place::new();
    let stacks = each_value(layers::shipped().iter().filter(|layer| layer.since.is_none()));
    assert!(stacks.len() > 25, "{stacks:?}");
    for some in stacks.chunks(8) {
        built_and_shown(&place, some, KERNEL);
    }
    clean(&place);
}

#[test]
fn a_layer_of_newer_kernels_is_built_there_and_refused_on_an_older_one() {
    let Some(_turn) = turn() else { return };
    let place = Place::new();
    let newer: Vec<_> = layers::shipped().iter().filter(|layer| layer.since.is_some()).collect();
    built_and_shown(&place, &each_value(newer.iter().copied()), "debian:newest");
    for layer in newer {
        let older = place.bakeoff(&format!("plan small-files --fs ext2 --kernel {KERNEL} --axis stack={}", layer.name));
        assert_eq!(older.status, Some(1), "{}", older.err);
        let (start, end) =
            (format!("{} needs Linux ", layer.name), "or newer, and this kernel is 6.1 (name a newer kernel");
        assert!(older.err.contains(&start) && older.err.contains(end), "{}", older.err);
    }
    clean(&place);
}

#[test]
fn layers_upon_layers_and_several_disks_work_and_are_in_the_labels() {
    let Some(_turn) = turn() else { return };
    let place = Place::new();
    let output =
        place.bakeoff(&format!("{RUN} --fs ext4 --kernel {KERNEL} --no-twin --axis stack=none,raid1+luks+lvm")).well();
    let shown = place.bakeoff("show --full").well().out;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("ext4 on raid1+luks+lvm") && words.contains("on bare disk"), "{shown}");
    assert!(!output.out.contains("dropped out"), "{}", output.out);
    clean(&place);
}

#[test]
fn a_run_killed_with_its_layers_open_leaves_nothing() {
    let Some(_turn) = turn() else { return };
    let of = |newer: bool| layers::shipped().iter().filter(move |layer| layer.since.is_some() == newer);
    let names =
        |layers: &[&layers::Layer]| layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>().join(",");
    let common: Vec<_> = of(false).collect();
    let mut some: Vec<_> = common.chunks(5).map(|some| (names(some), KERNEL)).collect();
    some.push(("raid1+luks,none".into(), KERNEL));
    some.push((names(&of(true).collect::<Vec<_>>()), "debian:newest"));
    for ((stacks, kernel), wait) in some.into_iter().zip([0, 400, 1500, 3000].into_iter().cycle()) {
        let place = place_with(ENDLESS);
        let run = run_on(&stacks);
        let mut child = place.start(&format!("{run} --fs odd --kernel {kernel} --no-twin --axis stack={stacks}"));
        booted(&place, &mut child);
        std::thread::sleep(Duration::from_millis(wait));
        killed(&place, &mut child);
        place.bakeoff("clean").well();
        clean(&place);
    }
}

#[test]
fn layers_on_this_machine_s_own_kernel_are_refused_before_the_first_trial() {
    let place = Place::new();
    let output = place.bakeoff(&format!("{RUN} --fs ext4 --axis stack=none,luks"));
    assert_ne!(output.status, Some(0));
    assert!(output.err.contains("--kernel debian:6.12"), "{}", output.err);
    let wrong = place.bakeoff("plan small-files --fs ext4 --axis stack=luks2 --kernel debian:6.12");
    assert_eq!(wrong.status, Some(2), "{}", wrong.err);
    assert!(wrong.err.contains("there is no layer `luks2`"), "{}", wrong.err);
    let small = place
        .bakeoff("plan small-files --set files=200 --set some=50 --fs ext4 --axis stack=bcache --kernel debian:6.12 --image 256MiB");
    assert_eq!(small.status, Some(1), "{}", small.err);
    assert!(small.err.contains("at least 512 MiB, and this one has 256 MiB (--image 512MiB)"), "{}", small.err);
}
