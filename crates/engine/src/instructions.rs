//! Instruction counts on a machine whose clock advances by one nanosecond per instruction.
//! In: the workers' CPU time, and the scheduler's time of running tasks (/proc/schedstat, Documentation/scheduler/sched-stats.rst).
//! Out: instructions per item: of the workers, and of all tasks together, including kernel threads. Interrupts that arrive while a
//! task runs are included; idle time, and interrupts within it, are not.

use std::collections::BTreeMap;
use workload::outcome::CpuTime;
use workload::program::{ALL_INSTRUCTIONS, COUNTS_VARIABLE, INSTRUCTIONS};

/// The kernel's counter file.
const FILE: &str = "/proc/schedstat";
/// Index of the task run time, in nanoseconds, in a processor's line.
const RAN: usize = 6;

/// Instructions of all tasks so far; None on a machine with any other clock.
pub fn so_far() -> Option<u64> {
    std::env::var_os(COUNTS_VARIABLE)?;
    ran(&std::fs::read_to_string(FILE).ok()?)
}

/// Instructions per item, by metric name: of workers with this CPU time, and of all tasks since the count `before`.
pub fn for_each(items: u64, workers: CpuTime, before: Option<u64>) -> BTreeMap<String, f64> {
    let all = before.and_then(|before| so_far()?.checked_sub(before));
    per_item(items, workers, all)
}

fn per_item(items: u64, workers: CpuTime, all: Option<u64>) -> BTreeMap<String, f64> {
    let Some(all) = all.filter(|_| items > 0) else { return BTreeMap::new() };
    let both = [(INSTRUCTIONS, workers.user_ns + workers.system_ns), (ALL_INSTRUCTIONS, all)];
    both.into_iter().map(|(word, count)| (word.to_owned(), count as f64 / items as f64)).collect()
}

fn ran(text: &str) -> Option<u64> {
    let numbers = |line: &str| -> Option<Vec<u64>> {
        let (name, numbers) = line.split_once(' ')?;
        let of_processor = name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok());
        of_processor.then(|| numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect())
    };
    let ran = text.lines().filter_map(numbers).map(|numbers| numbers.get(RAN).copied());
    ran.reduce(|sum, one| Some(sum? + one?)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_tasks_ran_is_added_up_over_processors_and_over_no_other_lines() {
        let text = "version 15\ntimestamp 4294935680\ncpu0 1 2 3 4 5 6 7000 8 9\ndomain0 3 4 5 6 7 8 9 10\ncpu1 0 0 0 0 0 0 500 0 0\n";
        assert_eq!(ran(text), Some(7500));
        assert_eq!((ran("version 15\n"), ran("cpu0 1 2\n")), (None, None));
    }

    #[test]
    fn instructions_per_item_are_of_workers_and_of_all_and_none_without_a_count() {
        let workers = CpuTime { user_ns: 1000, system_ns: 3000 };
        let found: Vec<(String, f64)> = per_item(4, workers, Some(6000)).into_iter().collect();
        assert_eq!(found, [(ALL_INSTRUCTIONS.to_owned(), 1500.0), (INSTRUCTIONS.to_owned(), 1000.0)]);
        assert!(per_item(4, workers, None).is_empty() && per_item(0, workers, Some(6000)).is_empty());
    }

    #[test]
    fn this_machine_has_them_where_its_kernel_keeps_account_of_time() {
        let Ok(text) = std::fs::read_to_string(FILE) else { return };
        assert!(ran(&text).expect("it is read") > 0);
        assert!(so_far().is_none(), "but its clock does not go by them");
    }
}
