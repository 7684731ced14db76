"""DuckDB: loads a CSV file into a table, and makes an index."""

import duckdb

with duckdb.connect("base.duckdb") as base:
    base.execute("CREATE TABLE loaded AS FROM read_csv('rows.csv')")
    base.execute("CREATE INDEX of_second ON loaded(column1)")
