# The steps of the workload `postgres`: sh -es STEP, with ROWS_SCALE, CLIENTS, AMOUNT, BUFFERS, WAL and FULL_PAGES in the environment.
# The server is started and stopped in each step, listens only on a socket in the folder, and never leaves it.
# The braces make sh read all of this before it starts a program that could read the rest.
{
step=$1

# The newest server that is installed.
bin=$(ls -d /usr/lib/postgresql/*/bin/postgres | sort -V | tail -n 1)
bin=${bin%/postgres}
export PGDATA="$PWD/data" PGHOST="$PWD/s" PGUSER=bench PGDATABASE=bench PGOPTIONS=

start() {
    mkdir -p "$PGHOST"
    "$bin/pg_ctl" start --wait --timeout=600 --silent --log="$PWD/server.log" --options="$*" </dev/null >/dev/null \
        || { tail -n 20 "$PWD/server.log" >&2; exit 1; }
}

# What is not yet written is written by the checkpoint of the shutdown; the data is then sound without the log.
stop() {
    "$bin/pg_ctl" stop --wait --timeout=600 --silent --mode=fast
    "$bin/pg_controldata" | grep -q '^Database cluster state: *shut down$'
}

# bench OPTIONS: pgbench, which has failed if a transaction has.
bench() {
    "$bin/pgbench" --no-vacuum --random-seed=1 --client="$CLIENTS" --jobs=2 "$@" $AMOUNT >printed 2>errors </dev/null \
        || { tail -n 20 errors >&2; stop; exit 1; }
    cat printed
    grep -q '^number of failed transactions: 0 ' printed
}

ask() {
    "$bin/psql" --no-psqlrc --tuples-only --no-align --quiet --set=ON_ERROR_STOP=1 --command="$1" </dev/null
}

case $step in
initdb)
    # Trust is enough: the socket lies in a folder of this user's own. Shared memory by posix would be left behind in /dev/shm by a kill.
    "$bin/initdb" --username=bench --auth=trust --encoding=UTF8 --no-locale --data-checksums >/dev/null </dev/null
    cat >>data/postgresql.conf <<END
listen_addresses = ''
unix_socket_directories = '$PGHOST'
unix_socket_permissions = 0700
shared_buffers = '$BUFFERS'
max_wal_size = '$WAL'
checkpoint_timeout = 5min
wal_level = minimal
max_wal_senders = 0
autovacuum = off
full_page_writes = $FULL_PAGES
dynamic_shared_memory_type = mmap
END
    ;;
load)
    start
    "$bin/createdb" bench </dev/null
    "$bin/pgbench" --initialize --quiet --scale="$ROWS_SCALE" </dev/null >/dev/null 2>errors || { tail -n 20 errors >&2; stop; exit 1; }
    stop
    ;;
tpcb)
    start
    bench --builtin=tpcb-like
    ask CHECKPOINT
    stop
    ;;
read-only)
    start
    bench --builtin=select-only
    stop
    ;;
check)
    # Every transaction wrote one row of history and moved the same amount in three tables.
    start
    found=$(ask "SELECT (SELECT count(*) FROM pgbench_accounts) = 100000 * $ROWS_SCALE
        AND (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)
        AND (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(delta) FROM pgbench_history)
        AND (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(delta) FROM pgbench_history)
        AND (SELECT count(*) FROM pgbench_history) > 0")
    stop
    [ "$found" = t ] || { echo "the sums of the tables differ" >&2; exit 1; }
    "$bin/pg_checksums" --check >/dev/null
    ;;
*)
    echo "no step $step" >&2
    exit 2
    ;;
esac
exit 0
}
