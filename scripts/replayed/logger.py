"""Four threads log lines into one file, which is synced every hundred lines and rotated at 256 KiB; eight old files are kept."""

import logging.handlers
import os
import sys
import threading


class Synced(logging.handlers.RotatingFileHandler):
    """A rotating log file that is durable every hundred lines."""

    lines = 0

    def emit(self, record):
        super().emit(record)
        self.lines += 1
        if self.lines % 100 == 0:
            os.fsync(self.stream.fileno())


def work(thread, lines):
    for line in range(lines):
        logging.info("thread %d line %d: %s", thread, line, "x" * (line % 150))


logging.getLogger().addHandler(Synced("app.log", maxBytes=256 << 10, backupCount=8))
logging.getLogger().setLevel(logging.INFO)
threads = [threading.Thread(target=work, args=(number, int(sys.argv[1]))) for number in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
