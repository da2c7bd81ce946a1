/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_EXEC_H
#define SIMGPU_EXEC_H

#include "graph.h"

struct simgpu_exec {
    uint64_t magic;
    struct simgpu_graph *graph; /* same node indices as the graph it was made of */
    const struct simgpu_graph *origin;
    struct simgpu_op
        *last; /* end of the previous launch: an executable graph never overlaps itself */
    bool auto_free;
};
#define SIMGPU_EXEC_MAGIC 0x53494d5f45584531ull

struct simgpu_exec *simgpu_exec_of(CUgraphExec handle);

#endif
