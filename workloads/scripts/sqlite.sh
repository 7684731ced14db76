# The steps of the workload `sqlite`: sh -es STEP JOURNAL SYNCHRONOUS, with ROWS, INSERTS, UPDATES, UNSYNCED and READS in the environment.
# All rows and all picks come from one generator with fixed seeds (Park and Miller's, in SQL), so every contender gets the same.
# The braces make sh read all of this before it starts a program that could read the rest.
{
step=$1 journal=$2 synchronous=$3

columns='id INTEGER PRIMARY KEY, k INTEGER NOT NULL, changes INTEGER NOT NULL, c TEXT NOT NULL'

# numbers COUNT SEED: a table `numbers` of (n, x), n from 1 to COUNT.
numbers() {
    echo "WITH RECURSIVE numbers(n, x) AS (SELECT 1, $2 UNION ALL SELECT n + 1, x * 48271 % 2147483647 FROM numbers WHERE n < $1)"
}

# 96 hexadecimal digits that follow from x.
text="printf('%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x',
    x, x * 3 % 2147483647, x * 5 % 2147483647, x * 7 % 2147483647, x * 11 % 2147483647, x * 13 % 2147483647,
    x * 17 % 2147483647, x * 19 % 2147483647, x * 23 % 2147483647, x * 29 % 2147483647, x * 31 % 2147483647, x * 37 % 2147483647)"

# create DATABASE: an empty table, the journal mode set (WAL stays in the file, DELETE is the default).
create() {
    [ "$(sqlite3 -batch -bail "$1" "PRAGMA journal_mode = $journal;")" = "$journal" ]
    sqlite3 -batch -bail "$1" "CREATE TABLE t($columns); CREATE INDEX t_k ON t(k);"
}

# equal WHAT FOUND WANTED
equal() {
    [ "$2" = "$3" ] || { echo "$1: $2 instead of $3" >&2; exit 1; }
}

# commits COUNT: how many of them; those that don't wait for the disk have a number of their own.
commits() {
    case $journal-$synchronous in
    wal-normal) echo "$UNSYNCED" ;;
    *) echo "$1" ;;
    esac
}

# statements DATABASE SQL: the lines that SQL selects are carried out in DATABASE, each a transaction of its own.
statements() {
    { echo "PRAGMA synchronous = $synchronous;"; sqlite3 -batch -bail :memory: "$2"; } | sqlite3 -batch -bail "$1"
}

case $step in
create)
    for journal in delete wal; do
        for synchronous in full normal; do
            create "insert-$journal-$synchronous.db"
        done
        create "large-$journal.db"
    done
    ;;
insert)
    statements "insert-$journal-$synchronous.db" "$(numbers "$(commits "$INSERTS")" 1)
        SELECT printf('INSERT INTO t VALUES (%d, %d, 0, ''%s'');', n, x % 1000000, $text) FROM numbers;"
    ;;
load)
    sqlite3 -batch -bail "large-$journal.db" "PRAGMA synchronous = $synchronous;
        $(numbers "$ROWS" 2) INSERT INTO t SELECT n, x % 1000000, 0, $text FROM numbers;"
    ;;
update)
    statements "large-$journal.db" "$(numbers "$(commits "$UPDATES")" 3)
        SELECT printf('UPDATE t SET k = k + 1, changes = changes + 1 WHERE id = %d;', 1 + x % $ROWS) FROM numbers;"
    ;;
read)
    found=$(sqlite3 -batch -bail "large-$journal.db" "$(numbers "$READS" 4)
        SELECT count(c) FROM numbers CROSS JOIN t ON id = 1 + x % $ROWS;")
    equal "rows read" "$found" "$READS"
    ;;
delete)
    for journal in delete wal; do
        sqlite3 -batch -bail "large-$journal.db" "DELETE FROM t WHERE id % 3 = 0;"
    done
    ;;
vacuum)
    sqlite3 -batch -bail "large-$journal.db" "PRAGMA synchronous = $synchronous; VACUUM;"
    ;;
check)
    for journal in delete wal; do
        for database in insert-$journal-full.db insert-$journal-normal.db large-$journal.db; do
            equal "journal mode of $database" "$(sqlite3 -batch -bail "$database" "PRAGMA journal_mode;")" "$journal"
            equal "integrity of $database" "$(sqlite3 -batch -bail "$database" "PRAGMA integrity_check;")" ok
        done
        for synchronous in full normal; do
            equal "rows inserted with $journal and $synchronous" \
                "$(sqlite3 -batch -bail "insert-$journal-$synchronous.db" "SELECT count(*) FROM t;")" "$(commits "$INSERTS")"
        done
    done
    ;;
check-large)
    for journal in delete wal; do
        changes=0
        for synchronous in full normal; do
            changes=$((changes + $(commits "$UPDATES")))
        done
        equal "rows and changes with $journal" \
            "$(sqlite3 -batch -bail "large-$journal.db" "SELECT count(*), sum(changes) FROM t;")" "$ROWS|$changes"
    done
    ;;
check-vacuum)
    for journal in delete wal; do
        equal "rows and free pages after vacuum with $journal" \
            "$(sqlite3 -batch -bail "large-$journal.db" "SELECT count(*), (SELECT freelist_count FROM pragma_freelist_count) FROM t;")" \
            "$((ROWS - ROWS / 3))|0"
    done
    ;;
*)
    echo "no step $step" >&2
    exit 2
    ;;
esac
exit 0
}
