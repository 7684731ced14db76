# The steps of the workload `rocksdb`: sh -es STEP, with KEYS, READS, SYNCS, THREADS and WRITE_RATE in the environment.
# The braces make sh read all of this before it starts a program that could read the rest.
{
# bench BENCHMARKS OPTIONS: what db_bench prints goes to our output; a benchmark that found less than it looked for has failed.
bench() {
    benchmarks=$1
    shift
    # The progress goes to standard error with carriage returns, and is left out.
    db_bench --db="$PWD/db" --wal_dir="$PWD/db" --benchmarks="$benchmarks" --num="$KEYS" --key_size=16 --value_size=400 \
        --compression_type=none "$@" 2>errors || { tr '\r' '\n' <errors | tail -n 5 >&2; exit 1; }
}

case $1 in
fill)
    bench fillseq --seed=1
    ;;
overwrite)
    bench overwrite --use_existing_db=1 --seed=2
    ;;
compact)
    bench compact --use_existing_db=1 --seed=7
    ;;
read)
    bench readrandom --use_existing_db=1 --seed=3 --threads="$THREADS" --reads=$((READS / THREADS)) >found
    cat found
    grep -q "($((READS / THREADS)) of $((READS / THREADS)) found)" found
    ;;
read-while-writing)
    bench readwhilewriting --use_existing_db=1 --seed=4 --threads="$THREADS" --reads=$((READS / THREADS)) \
        --benchmark_write_rate_limit="$WRITE_RATE"
    ;;
sync)
    bench overwrite --use_existing_db=1 --seed=5 --threads="$2" --writes=$((SYNCS / $2)) --sync=1
    ;;
check)
    bench verifychecksum --use_existing_db=1 --seed=6
    # Every key is still there, and none beside them.
    keys=$(ldb --db="$PWD/db" dump --count_only </dev/null | sed -n 's/^Keys in range: \([0-9]*\).*/\1/p')
    [ "$keys" = "$KEYS" ] || { echo "$keys keys instead of $KEYS" >&2; exit 1; }
    ;;
*)
    echo "no step $1" >&2
    exit 2
    ;;
esac
exit 0
}
