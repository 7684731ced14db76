//! An engine that is a shell script.

use workload::outcome::PhaseOutcome;

/// The script's outcome of a phase.
pub fn outcome(phase: usize) -> PhaseOutcome {
    PhaseOutcome { phase, items: 10, returned_ns: 1_000_000, work_hash: 7, ..PhaseOutcome::default() }
}

/// The script; its argument selects its behaviour.
pub fn script() -> String {
    let done = serde_json::to_string(&workload::message::Reply::Done(Box::new(outcome(0)))).expect("JSON");
    let ceiling = r#"{"ceiling":{"generate_bytes_per_second":1e9,"write_bytes_per_second":1e9,"clock_read_ns":1.0,"record_ns":2.0,"clock":"tsc","clock_error":0.0}}"#;
    let protocol = workload::message::PROTOCOL;
    format!(
        r#"protocol={protocol}
[ "$1" = other-protocol ] && protocol=999
echo "{{\"hello\":{{\"protocol\":$protocol,\"version\":\"test\",\"pid\":1}}}}"
while read -r line; do
    case $line in
    *load*) echo '{{"loaded":{{"lacking":[]}}}}' ;;
    *count-cached*) echo '{{"cached":{{"bytes":0,"files":1}}}}' ;;
    *measure-ceiling*) echo '{ceiling}' ;;
    *slices*)
        left=$(expr "$line" : '.*"slices":\([0-9]*\)')
        echo $$ >>"$0.slices"
        echo '{{"sliced":{{"phase":0,"slices":1}}}}'
        ;;
    *go-on*)
        left=$((left - 1))
        echo $$ >>"$0.slices"
        if [ $left = 1 ]; then echo '{done}'; else echo '{{"sliced":{{"phase":0,"slices":2}}}}'; fi
        ;;
    *perform*)
        [ "$1" = crash ] && {{ echo 'out of luck' >&2; exit 42; }}
        [ "$1" = fail ] && {{ echo '{{"failed":{{"phase":0,"partial":null,"reason":"write f/7 at 4096: No space left on device (28)"}}}}'; continue; }}
        case $1 in
        first-is-faster|now-one-now-the-other)
            calls=$(( $(cat "$0.calls" 2>/dev/null || echo 0) + 1 ))
            echo $calls >"$0.calls"
            ns=$(( calls % 2 ? 1000000 + calls * 10000 : 9000000 ))
            [ "$1" = now-one-now-the-other ] && ns=$(( (calls + (calls - 1) / 2) % 2 ? 1000000 : 2000000 ))
            echo '{done}' | sed "s/\"returned_ns\":1000000/\"returned_ns\":$ns/"
            ;;
        *) echo '{done}' ;;
        esac
        ;;
    *quit*) exit 0 ;;
    esac
done
"#
    )
}
