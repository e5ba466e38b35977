#!/usr/bin/env python3
"""The tables of docs/locks.md from JSON files of lock_bench: million operations a second, median (quartiles)."""

import collections
import json
import re
import statistics
import sys

ARMS = ["std::mutex", "std::shared_mutex", "tbb::rw_mutex", "fair_shared_mutex", "percpu_shared_mutex",
        "std::mutex + long long", "std::atomic", "sharded_counter"]

tables = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        runs = json.load(file)["benchmarks"]
    for run in runs:
        if run["run_type"] != "iteration":
            continue
        arm = run["run_name"].split("/")[0]
        key = {name: int(value) for name, value in re.findall(r"(\w+):(\d+)", run["run_name"])}
        title = "counters"
        if "section" in key:
            title = f"section {key['section']}, {key['writes'] / 10:g} % writes"
        elif "slots" in key:
            title = "a writer alone"
            arm += f", {key['slots']} slots" if key["slots"] else ""
        tables[title][key["threads"]][arm].append(run["items_per_second"] / 1e6)


def cell(values):
    if len(values) < 2:
        return " ".join(f"{value:.3g}" for value in values)
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.3g} ({low:.3g}-{high:.3g})"


def order(arm):
    name, _, slots = arm.partition(", ")
    return ARMS.index(name), len(slots), slots


for title, rows in sorted(tables.items(), key=lambda item: (not item[0].startswith("section"), item[0])):
    arms = sorted({arm for cells in rows.values() for arm in cells}, key=order)
    print(f"| {title}; threads | " + " | ".join(arms) + " |")
    print("|---" * (1 + len(arms)) + "|")
    for threads, cells in sorted(rows.items()):
        print(f"| {threads} | " + " | ".join(cell(cells[arm]) for arm in arms) + " |")
    print()
