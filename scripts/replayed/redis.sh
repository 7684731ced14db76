# A Redis server that syncs each change, and its benchmark: N sets and N pushes of 100 bytes by 50 clients.
redis-server --port 0 --unixsocket redis.sock --dir . --save '' --appendonly yes --appendfsync always --loglevel warning &
tries=200
until redis-cli -s redis.sock ping >/dev/null 2>&1; do
    [ $((tries -= 1)) -gt 0 ]
    sleep 0.05
done
redis-benchmark -s redis.sock -q -t set,lpush -n "$N" -d 100 >/dev/null
redis-cli -s redis.sock shutdown
wait
