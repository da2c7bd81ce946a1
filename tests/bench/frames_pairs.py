# SPDX-License-Identifier: Apache-2.0
"""Which pages must not share a frame, from what a run did: SIMGPU_MAPS and SIMGPU_TOUCHED of it.

Usage: frames_pairs.py MAPS TOUCHED
Prints a line "CALL ADDRESS WHY" for each pair of a page that was mapped for good and another one that was mapped
before it, in another frame: CALL, of cuMemMap, mapped the one; the other is at ADDRESS. WHY is
  together  an operation touches both
  between   one is written after the other was, and before what the other holds is read: by an operation, or to be
            copied out
  apart     neither: they may share a frame, as what one holds is not needed while the other is there"""
import sys

PAGE = 2 << 20


def read_maps(path):
    """The last mapping of each page, in order: (call, page, frame)."""
    last = {}
    for line in open(path):
        call, address, frame = line.split()
        last[int(address, 16) // PAGE] = (int(call), int(frame))
    return sorted((call, page, frame) for page, (call, frame) in last.items())


def read_steady(path):
    """The operations of the steady steps, as they were queued: by page, is it [read, written]."""
    ops, current = [], None
    for line in open(path):
        first, rest = line.rstrip("\n").split(" ", 1)
        if first in ("r", "w"):
            address, count = rest.split()
            for page in range(int(address, 16) // PAGE, (int(address, 16) + int(count) - 1) // PAGE + 1):
                current.setdefault(page, [False, False])[first == "w"] = True
            continue
        current = {}
        ops.append((int(first), current))
    ops.sort(key=lambda op: op[0])
    most = ops[-1][0]
    return [op for number, op in ops if most * 0.55 < number < most * 0.85]


def why(ops, one, other):
    """Why the pages must not share a frame, or "apart"."""
    state = {one: "unknown", other: "unknown"}  # then "whole", and "lost" once the other one was written
    for touched in ops:
        if one in touched and other in touched:
            return "together"
        for page, rest in ((one, other), (other, one)):
            read, written = touched.get(page, (False, False))
            if read and state[page] == "lost":
                return "between"
            if read or written:
                state[page] = "whole"
            if written and state[rest] == "whole":
                state[rest] = "lost"
    return "apart"


def main():
    maps, ops = read_maps(sys.argv[1]), read_steady(sys.argv[2])
    used = set().union(*ops)
    for at, (call, page, frame) in enumerate(maps):
        for _, other, theirs in maps[:at]:
            if page not in used or other not in used or theirs == frame:
                continue
            print(call, hex(other * PAGE), why(ops, page, other))


main()
