"""LMDB: transactions of a hundred puts, each durable, then every value read by key."""

import random
import sys

import lmdb

amount = int(sys.argv[1])
chance = random.Random(1)
keys = [b"%012d" % chance.randrange(10**9) for _ in range(amount)]
with lmdb.open("store", map_size=1 << 30) as store:
    for start in range(0, amount, 100):
        with store.begin(write=True) as transaction:
            for key in keys[start:start + 100]:
                transaction.put(key, key * 20)
    with store.begin() as transaction:
        assert all(transaction.get(key) for key in keys)
