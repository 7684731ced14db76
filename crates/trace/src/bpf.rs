//! The preferred watcher: eBPF programs at the kernel's tracepoints, through bpftrace. A call costs microseconds, and no thread is stopped.
//! In: a process that waits to be started. Out: a script for bpftrace, and events from the lines that it prints.

use crate::events::{Event, OffCpu, Seen};
use crate::syscalls::{self, Points};
use std::collections::HashMap;
use std::fmt::Write;

/// Longest path that fits on eBPF's small stack, in bytes.
pub const TEXT: usize = 200;
/// The line printed once everything is attached.
pub const READY: &str = "READY";

/// Fills bpftrace's buffer, so that the line before is written at once. Nothing is printed before everything is attached.
const FILLING: &str =
    "................................................................................................................";

/// Marks the flags of clone3(2), which are in memory and are printed on a separate line.
const OF_CLONE3: u64 = u64::MAX;

/// The script for a process and all its descendants.
pub fn script(process: u32) -> String {
    let mut begin = String::new();
    for call in syscalls::all() {
        let kind = match call.points {
            // The script tests ranges of these: none, one text, two texts, two numbers, an address.
            Points::No => 1,
            Points::Text(0) => 2,
            Points::Text(_) => 3,
            Points::Texts(0, 1) => 4,
            Points::Texts(0, _) => 5,
            Points::Texts(..) => 6,
            Points::Pair(0) => 7,
            Points::Pair(_) => 8,
            Points::Address => 9,
        };
        let _ = write!(begin, "@w[{}] = {kind}; ", call.number);
    }
    // Per thread, c: the present call; m: 0 watched; 1 when it entered the call (0: in none); 2 when it was released from the one before; 3 when
    // it left its processor, and why; 4, 5, 6 nanoseconds off the processor: queued, blocked, asleep; 7 its calls that are not watched. They share a map, since each map has room
    // for all calls and is filled with zeros at the start. Per call, by thread and start: e the call, p and q its texts, n its numbers. w has the
    // watched calls, k their number. Calls are collected in maps and printed at the end: printing each would wake bpftrace each time, at eight
    // times the cost.
    format!(
        r#"BEGIN {{ @m[{process}, 0] = 1; @m[{process}, 4] = 0; @m[{process}, 5] = 0; @m[{process}, 6] = 0; @m[{process}, 7] = 0; @m[{process}, 1] = nsecs; @m[{process}, 2] = nsecs; {begin} printf("{READY}\n"); unroll(90) {{ printf("{FILLING}\n"); }} unroll(90) {{ printf("{FILLING}\n"); }} }}
tracepoint:raw_syscalls:sys_enter /@m[tid, 0]/ {{
  if (@w[args->id]) {{
  @c[tid] = (nsecs, args->args[0], args->args[1], args->args[2], args->args[3], args->args[4], args->args[5], args->id, @m[tid, 4], @m[tid, 5], @m[tid, 6], @m[tid, 2], @m[tid, 7]);
  @m[tid, 1] = nsecs;
  }} else {{ @m[tid, 7] += 1; }}
}}
tracepoint:sched:sched_process_fork /@m[tid, 0]/ {{
  @m[args->child_pid, 0] = 1; @m[args->child_pid, 3] = nsecs * 4;
  printf("F %d %llu %d %d %lx\n", tid, nsecs, args->child_pid, @c[tid].7, @c[tid].1);
}}
tracepoint:sched:sched_process_fork /@m[tid, 0]/ {{ printf("G %d %lx\n", args->child_pid, *(uint64*)uptr(@c[tid].1)); }}
tracepoint:sched:sched_process_exit /@m[tid, 0]/ {{
  printf("X %d %llu %llu %llu %llu %llu\n", tid, nsecs, @m[tid, 4], @m[tid, 5], @m[tid, 6], @m[tid, 7]);
  delete(@m[tid, 0]); delete(@c[tid]); delete(@m[tid, 4]); delete(@m[tid, 5]); delete(@m[tid, 6]); delete(@m[tid, 7]); delete(@m[tid, 1]); delete(@m[tid, 2]);
}}
tracepoint:sched:sched_switch /@m[args->prev_pid, 0]/ {{
  $s = args->prev_state & 255;
  @m[args->prev_pid, 3] = nsecs * 4 + ($s == 0 ? 0 : ($s & 2 ? 1 : 2));
}}
tracepoint:sched:sched_switch /@m[args->next_pid, 3]/ {{
  $n = args->next_pid; $o = @m[$n, 3]; $off = nsecs - $o / 4; @m[$n, 3] = 0;
  if ($o % 4 == 0) {{ @m[$n, 4] += $off; }} else {{ if ($o % 4 == 1) {{ @m[$n, 5] += $off; }} else {{ @m[$n, 6] += $off; }} }}
}}
tracepoint:raw_syscalls:sys_exit /@m[tid, 1]/ {{
  $c = @c[tid];
  @e[tid, $c.0] = (nsecs, args->id, $c.1, $c.2, $c.3, $c.4, $c.5, $c.6, args->ret, $c.8, $c.9, $c.10, @m[tid, 4], @m[tid, 5], @m[tid, 6], @m[tid, 1], $c.11, cpu, $c.12);
  @k = count();
}}
tracepoint:raw_syscalls:sys_exit /@m[tid, 1] && @w[args->id] > 1/ {{
  $k = @w[args->id];
  if ($k < 7) {{ $a = ($k == 3 || $k == 6) ? @c[tid].2 : @c[tid].1; @p[tid, @c[tid].0] = str(uptr($a)); }}
}}
tracepoint:raw_syscalls:sys_exit /@m[tid, 1] && @w[args->id] > 3/ {{
  $k = @w[args->id];
  if ($k < 7) {{ $a = $k == 4 ? @c[tid].2 : ($k == 5 ? @c[tid].3 : @c[tid].4); @q[tid, @c[tid].0] = str(uptr($a)); }}
}}
tracepoint:raw_syscalls:sys_exit /@m[tid, 1] && @w[args->id] > 6/ {{
  $k = @w[args->id];
  $a = $k == 7 ? @c[tid].1 : ($k == 8 ? @c[tid].4 : @c[tid].2);
  @n[tid, @c[tid].0] = *(uint64*)uptr($a);
  if ($k == 9) {{ @p[tid, @c[tid].0] = str(uptr($a + 2)); }}
}}
tracepoint:raw_syscalls:sys_exit /@m[tid, 1]/ {{ @m[tid, 1] = 0; @m[tid, 2] = nsecs; }}
END {{ clear(@m); clear(@w); clear(@c); }}
"#
    )
}

/// The events in the script's output, in no order.
///
/// # Errors
/// A path was too long, or there were too many calls; in a sentence.
pub fn events(text: &str) -> Result<Vec<Event>, String> {
    let mut events: Vec<Event> = Vec::new();
    // Texts and numbers are in separate maps. Their key is the thread and the start of its call.
    let mut places: HashMap<(i32, u64), usize> = HashMap::new();
    let mut beside: Vec<((i32, u64), char, &str)> = Vec::new();
    let mut flags: HashMap<i32, u64> = HashMap::new();
    let mut counted = 0;
    for line in text.lines() {
        if let Some(count) = line.strip_prefix("@k: ") {
            counted = count.parse().unwrap_or(0);
        } else if let Some((map, key, value)) = entry(line) {
            match map {
                'e' => {
                    places.insert(key, events.len());
                    events.extend(call(key, value).map(|seen| Event::Call(Box::new(seen))));
                }
                _ if value.len() >= TEXT - 1 => {
                    return Err(format!(
                        "eBPF records paths of up to {} bytes, and this one is longer: {value}; use `--with strace`",
                        TEXT - 1
                    ));
                }
                _ => beside.push((key, map, value)),
            }
        } else if let Some((letter, rest)) = line.split_once(' ') {
            match letter {
                "F" => events.extend(birth(rest)),
                "G" => flags.extend(
                    rest.split_once(' ').and_then(|(child, flags)| Some((child.parse().ok()?, hex(flags)? as u64))),
                ),
                "X" => events.extend(end(rest)),
                _ => {}
            }
        }
    }
    if counted > places.len() {
        return Err(format!(
            "of {counted} calls, {} did not fit in memory; `--with strace` writes them to a file instead",
            counted - places.len()
        ));
    }
    // A call's first text comes before its second.
    beside.sort_by_key(|(key, map, _)| (*key, *map));
    for (key, map, value) in beside {
        let Some(Event::Call(seen)) = places.get(&key).and_then(|place| events.get_mut(*place)) else { continue };
        match map {
            'n' => seen.numbers = pair_of(value, seen.call),
            _ => seen.texts.push(value.to_owned()),
        }
    }
    for event in &mut events {
        if let Event::Birth { child, flags: asked, .. } = event
            && *asked == OF_CLONE3
        {
            *asked = flags.get(child).copied().unwrap_or(0);
        }
    }
    Ok(events)
}

/// A map's entry as bpftrace prints it: `@e[THREAD, START]: VALUE`.
fn entry(line: &str) -> Option<(char, (i32, u64), &str)> {
    let (map, rest) = line.strip_prefix('@')?.split_once('[')?;
    let (key, value) = rest.split_once("]: ")?;
    let (thread, start) = key.split_once(", ")?;
    Some((map.chars().next()?, (thread.parse().ok()?, start.parse().ok()?), value))
}

/// A number of 64 bits, with or without sign.
fn number(word: &str) -> Option<i64> {
    word.parse().ok().or_else(|| word.parse::<u64>().ok().map(|number| number as i64))
}

fn hex(word: &str) -> Option<i64> {
    u64::from_str_radix(word, 16).ok().map(|number| number as i64)
}

fn pair_of(word: &str, call: i64) -> Vec<i64> {
    let Some(both) = number(word) else { return Vec::new() };
    match call {
        libc::SYS_bind | libc::SYS_connect => vec![both],
        _ => vec![both & 0xffff_ffff, both >> 32 & 0xffff_ffff],
    }
}

fn call((thread, start): (i32, u64), value: &str) -> Option<Seen> {
    let words = value.trim_matches(['(', ')']).split(", ").map(number).collect::<Option<Vec<i64>>>()?;
    let [end, call, arguments @ .., result, r0, d0, s0, r1, d1, s1, entered, released, cpu, unwatched] =
        words.as_slice()
    else {
        return None;
    };
    let off = |queued: &i64, blocked: &i64, asleep: &i64| OffCpu {
        queued: *queued as u64,
        blocked: *blocked as u64,
        asleep: *asleep as u64,
    };
    Some(Seen {
        thread,
        // A call that started before recording has no start.
        start: Some(start).filter(|start| *start > 0)?,
        end: *end as u64,
        entered: *entered as u64,
        released: *released as u64,
        cpu: *cpu as u32,
        unwatched: *unwatched as u64,
        call: *call,
        arguments: arguments.try_into().ok()?,
        texts: Vec::new(),
        numbers: Vec::new(),
        result: *result,
        off_at_start: off(r0, d0, s0),
        off_at_end: off(r1, d1, s1),
    })
}

fn birth(rest: &str) -> Option<Event> {
    let words: Vec<&str> = rest.split(' ').collect();
    let [parent, at, child, call, argument] = words.as_slice() else { return None };
    let flags = match call.parse().ok()? {
        libc::SYS_clone => hex(argument)? as u64,
        libc::SYS_clone3 => OF_CLONE3,
        // fork(2) and vfork(2) have none.
        _ => 0,
    };
    Some(Event::Birth { at: at.parse().ok()?, parent: parent.parse().ok()?, child: child.parse().ok()?, flags })
}

fn end(rest: &str) -> Option<Event> {
    let words: Vec<u64> = rest.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    let &[thread, at, queued, blocked, asleep, unwatched] = words.as_slice() else { return None };
    Some(Event::End { at, thread: thread as i32, off: OffCpu { queued, blocked, asleep }, unwatched })
}
