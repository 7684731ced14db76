"""LevelDB: batches of a hundred puts, every tenth one durable, then reads by key and a scan."""

import random
import sys

import plyvel

amount = int(sys.argv[1])
chance = random.Random(1)
keys = [b"%012d" % chance.randrange(10**9) for _ in range(amount)]
store = plyvel.DB("store", create_if_missing=True, write_buffer_size=1 << 20)
for start in range(0, amount, 100):
    with store.write_batch(sync=start % 1000 == 0) as batch:
        for key in keys[start:start + 100]:
            batch.put(key, chance.randbytes(200))
assert all(store.get(key) for key in keys[::5])
assert sum(1 for _ in store) == len(set(keys))
store.close()
