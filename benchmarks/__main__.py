"""Run the benchmarks: ``python -m benchmarks [NAME...]`` from the project root."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks import bounded, jsonl, listing, memory, optimum, process, report
from benchmarks.measure import Row

BENCHMARKS: dict[str, tuple[Callable[[int], Iterator[Row]], str]] = {
    "process": (process.rows, process.__doc__ or ""),
    "jsonl": (jsonl.rows, jsonl.__doc__ or ""),
    "listing": (listing.rows, listing.__doc__ or ""),
    "optimum": (optimum.rows, optimum.__doc__ or ""),
    "bounded": (bounded.rows, bounded.__doc__ or ""),
    "memory": (memory.rows, memory.__doc__ or ""),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write docs/benchmarks.md")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(BENCHMARKS):
        parser.error(
            f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}"
        )
    if asked.runs < 1:
        parser.error("at least one run")

    where = report.machine(asked.runs)
    print(where)
    results: dict[str, list[Row]] = {}
    for name in asked.names or BENCHMARKS:
        print(f"\n{name}", flush=True)
        results[name] = []
        for row in BENCHMARKS[name][0](asked.runs):
            results[name].append(row)
            print(report.line(row), flush=True)
    if asked.json:
        figures = {
            name: [{**asdict(row), "met": row.met} for row in rows]
            for name, rows in results.items()
        }
        text = json.dumps({"machine": where, "benchmarks": figures}, indent=2) + "\n"
        asked.json.write_text(text, encoding="utf-8")
    if asked.markdown:
        about = {name: doc for name, (_, doc) in BENCHMARKS.items()}
        asked.markdown.write_text(report.page(results, about, where), encoding="utf-8")


if __name__ == "__main__":
    main()
