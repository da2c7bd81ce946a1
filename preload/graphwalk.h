/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the sink what the nodes of executable graphs are. Inside the guard, after the driver's call
 * succeeded. */
#ifndef SPILL_GRAPHWALK_H
#define SPILL_GRAPHWALK_H

#include "preload/base/cuapi.h"

/* EXEC has the nodes of GRAPH, and no others; or these, too. */
void spill_graphwalk_made(CUgraphExec exec, CUgraph graph);
void spill_graphwalk_more(CUgraphExec exec, CUgraph graph);

/* NODE of EXEC was given such parameters. */
void spill_graphwalk_kernel_v1(CUgraphExec exec, CUgraphNode node,
                               const CUDA_KERNEL_NODE_PARAMS_v1 *params);
void spill_graphwalk_kernel(CUgraphExec exec, CUgraphNode node,
                            const CUDA_KERNEL_NODE_PARAMS *params);
void spill_graphwalk_copy(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *copy);
void spill_graphwalk_set(CUgraphExec exec, CUgraphNode node, CUdeviceptr dst);
void spill_graphwalk_child(CUgraphExec exec, CUgraphNode node, CUgraph child);
void spill_graphwalk_any(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *params);

/* Streams, by a graph, wait for or write these values: their memory stays. */
void spill_graphwalk_values(const CUstreamBatchMemOpParams *list, unsigned int count);

#endif
