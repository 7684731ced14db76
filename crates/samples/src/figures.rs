//! Figures of one pass: the amount of work over its time.
//! In: a phase's record and its facts. Out: values, absent where nothing was measured.

use records::PhaseRecord;
use records::facts::PhaseFacts;
use records::program::{DEVICE_WRITTEN, Figure};

const MIB: f64 = (1 << 20) as f64;

/// The figure that is judged: until durable if the phase wrote, else until the last call returned.
///
/// A write that has returned may not have begun on the device, so a returned rate is never the device's. Figures that programs print are
/// used unchanged, and summed if several programs run at once.
pub fn headline(phase: &PhaseRecord, facts: &PhaseFacts) -> Option<f64> {
    if let Some(own) = &facts.own {
        if own.from == DEVICE_WRITTEN {
            return phase.evidence.device_written_bytes.map(|bytes| bytes as f64 / MIB).filter(|value| *value > 0.0);
        }
        if let Some(text) = phase.outcome.told.get(&own.from) {
            return Some(*text).filter(|value| *value > 0.0 && value.is_finite());
        }
        let printed = phase.outcome.commands.iter().filter_map(|run| run.figures.get(&own.name)).copied();
        return printed.reduce(|sum, one| sum + one).filter(|value| *value > 0.0 && value.is_finite());
    }
    durable(phase, facts).or_else(|| returned(phase, facts))
}

/// The figure until the last call returned: bytes or items a second, or seconds.
pub fn returned(phase: &PhaseRecord, facts: &PhaseFacts) -> Option<f64> {
    let elapsed = match group(phase, facts) {
        Some(group) => group.returned_ns,
        None => phase.outcome.returned_ns,
    };
    over(phase, facts, elapsed)
}

/// The figure until all was durable; absent where nothing was written. A group that only reads does not wait for data to become durable.
pub fn durable(phase: &PhaseRecord, facts: &PhaseFacts) -> Option<f64> {
    let durable_ns = phase.outcome.durable_ns?;
    match group(phase, facts) {
        Some(group) if group.bytes_read > 0 && group.bytes_written == 0 => None,
        Some(group) => over(phase, facts, durable_ns.saturating_sub(group.lead_ns)),
        None => over(phase, facts, durable_ns),
    }
}

/// CPU time of the workers as a share of the elapsed time, in percent, as Bonnie++ states it.
pub fn cpu_percent(phase: &PhaseRecord) -> Option<f64> {
    let spent = phase.outcome.cpu.user_ns + phase.outcome.cpu.system_ns;
    let elapsed = phase.outcome.returned_ns;
    (spent > 0 && elapsed > 0).then(|| 100.0 * spent as f64 / elapsed as f64)
}

fn over(phase: &PhaseRecord, facts: &PhaseFacts, elapsed_ns: u64) -> Option<f64> {
    if elapsed_ns == 0 {
        return None;
    }
    let seconds = elapsed_ns as f64 / 1e9;
    let (items, read, written) = match group(phase, facts) {
        Some(group) => (group.items, group.bytes_read, group.bytes_written),
        None => (phase.outcome.items, phase.outcome.bytes_read, phase.outcome.bytes_written),
    };
    // A rewrite reads and writes the same bytes; they are counted once, as Bonnie++ does.
    let value = match facts.figure {
        Figure::BytesPerSecond => read.max(written) as f64 / seconds,
        Figure::ItemsPerSecond => items as f64 / seconds,
        Figure::Seconds => seconds,
        Figure::Printed => return None,
    };
    (value > 0.0).then_some(value)
}

fn group<'a>(phase: &'a PhaseRecord, facts: &PhaseFacts) -> Option<&'a records::outcome::GroupOutcome> {
    let name = facts.figure_group.as_ref()?;
    phase.outcome.groups.iter().find(|group| &group.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::outcome::PhaseOutcome;

    fn phase(returned_ns: u64, durable_ns: Option<u64>) -> (PhaseRecord, PhaseFacts) {
        let figure = Figure::ItemsPerSecond;
        let facts = PhaseFacts { name: "create".into(), figure, ..PhaseFacts::default() };
        let outcome =
            PhaseOutcome { items: 10, bytes_written: 4096, returned_ns, durable_ns, ..PhaseOutcome::default() };
        (PhaseRecord::new("create", records::program::Cache::Cold, figure, outcome), facts)
    }

    #[test]
    fn a_figure_is_what_was_done_over_the_time_it_took() {
        let (phase, facts) = phase(2_000_000_000, Some(4_000_000_000));
        assert_eq!((returned(&phase, &facts), durable(&phase, &facts)), (Some(5.0), Some(2.5)));
        assert_eq!(headline(&phase, &facts), Some(2.5), "what was written is judged until it was safe");
    }

    #[test]
    fn an_untimed_phase_has_no_figure() {
        let (phase, facts) = phase(0, None);
        assert_eq!((returned(&phase, &facts), durable(&phase, &facts), headline(&phase, &facts)), (None, None, None));
    }
}
