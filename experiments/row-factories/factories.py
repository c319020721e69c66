"""Makes rows of a result by one of the Cassandra driver's factories, which need no server."""
import sys
import time

from cassandra import query

way, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
factory = getattr(query, way + "_factory")
names = ["column_%d" % n for n in range(columns)]
data = [tuple(range(row, row + columns)) for row in range(rows)]
times = max(3, 3000 // rows)
best = None
for _ in range(times):
    begin = time.process_time_ns()
    made = factory(names, data)
    took = time.process_time_ns() - begin
    best = took if best is None else min(best, took)
last = made[-1]
values = list(last.values()) if isinstance(last, dict) else list(last)
print("nanoseconds", max(best, 1))
print(len(made), values)
