# SPDX-License-Identifier: Apache-2.0
"""Compares the accesses of a trace (as `spillway report --format json` gives it) with what the simulated GPU saw
its operations touch (SIMGPU_TOUCHED), in every stretch of the run that does what the traced iteration does.

Usage: accesses.py NAME TRACE.json TOUCHED [buffers that must be named|pinned|both]
Prints what it counted; status 1 if a touched buffer is neither named by its operation nor pinned, or if what the
trace knows to be read was written."""
import json
import sys

KINDS = {"copy HtoD": "copy", "copy DtoH": "copy", "copy DtoD": "copy", "memset": "set"}


def read_touched(path):
    """The run's kernels, copies and memsets as they were queued: (id, what, [(writes, address, bytes)])."""
    ops, runs = [], None
    for line in open(path):
        first, rest = line.rstrip("\n").split(" ", 1)
        if first in ("r", "w"):
            address, count = rest.split()
            runs.append((first == "w", int(address, 16), int(count)))
            continue
        if not first.isdigit():
            sys.exit(f"not ok {path}: {line}")
        runs = []
        what = rest if rest.startswith("kernel ") else KINDS.get(rest)
        if what is not None:
            ops.append((int(first), what, runs))
    return sorted(ops, key=lambda op: op[0])


def lives(buffer, op):
    birth, free = buffer["birth_op"], buffer["free_op"]
    if birth is None:
        return True
    return birth <= op < free if birth < free else op >= birth or op < free


class Count:
    def __init__(self):
        self.touched = self.named = self.pinned = self.idle = self.idle_bytes = 0
        self.small, self.wrong = set(), []


def compare(op, runs, trace, owners, count):
    """One operation of the iteration against the runs it really touched."""
    page = trace["page_bytes"]
    modes = {a["buffer"]: a["mode"] for a in op["accesses"]}
    real = {}  # buffer: written
    for writes, address, size in runs:
        at = address
        while at < address + size:
            end = min(address + size, at // page * page + page)
            here = [b for b in owners.get(at // page, []) if lives(trace["buffers"][b], op["op"])]
            for b in here:
                real[b] = real.get(b, False) or writes
            if not here:
                count.small.add(at // page)
            at = end
    for b, written in real.items():
        pin = trace["buffers"][b]["pinned"]
        count.touched += 1
        if b in modes:
            count.named += 1
            if modes[b] == "read" and written:
                count.wrong.append(f"op {op['op']} {op['name']} wrote buffer {b}, which the trace says it read")
        elif pin is not None:
            count.pinned += 1
        else:
            count.wrong.append(f"op {op['op']} {op['name']} touched buffer {b}, and the trace does not say so")
    for b in modes.keys() - real.keys():
        count.idle += 1
        count.idle_bytes += trace["buffers"][b]["bytes"]


def main(name, trace_path, touched_path, expected=None):
    trace, seen = json.load(open(trace_path)), read_touched(touched_path)
    owners, page = {}, trace["page_bytes"]  # page: the buffers that have it, one after another
    for b, buffer in enumerate(trace["buffers"]):
        first = int(buffer["address"], 16) // page
        for p in range(first, first + buffer["page_bytes"] // page):
            owners.setdefault(p, []).append(b)
    ops = [op for op in trace["ops"] if op["kind"] != "host"]
    whats = [("kernel " + op["symbol"]) if op["kind"] == "kernel" else op["kind"] for op in ops]
    seen_whats = [what for _, what, _ in seen]
    count, iterations, at = Count(), 0, 0
    while at + len(ops) <= len(seen):
        if seen_whats[at:at + len(ops)] != whats:
            at += 1
            continue
        iterations += 1
        for op, (_, _, runs) in zip(ops, seen[at:at + len(ops)]):
            compare(op, runs, trace, owners, count)
        at += len(ops)
    reasons = sorted({b["pinned"] for b in trace["buffers"] if b["pinned"] is not None})
    print(f"# {name}: {iterations} iterations of {len(ops)} ops; {count.touched} buffers touched, of them "
          f"{count.named} named by their op, {count.pinned} pinned ({', '.join(reasons) or 'none'}), "
          f"{len(count.wrong)} missing")
    named = count.named + count.idle
    print(f"#   {count.idle} of {named} named buffers were not touched ({100 * count.idle // max(named, 1)} %, "
          f"{count.idle_bytes >> 20} MiB); {len(count.small)} pages of small buffers touched")
    if iterations == 0 or count.touched == 0:
        count.wrong.append("nothing to compare")
    if len(count.small) * page > trace["small_bytes"]:
        count.wrong.append("more memory outside the trace's buffers was touched than there is for small ones")
    if expected == "named" and count.pinned + len(reasons) > 0 or expected == "pinned" and count.pinned == 0:
        count.wrong.append(f"expected hidden buffers to be {expected}")
    for line in count.wrong[:10]:
        print(f"# {line}")
    print(f"{'not ok' if count.wrong else 'ok'} {name}")
    return 1 if count.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
