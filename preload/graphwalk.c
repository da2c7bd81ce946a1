/* SPDX-License-Identifier: Apache-2.0 */
/* RATIONALE: a node that cannot be read, or is of a kind that is not known here, is told as one
 * that touches anything, and so is a kernel whose parameters the device may change. */
#include "preload/graphwalk.h"

#include "preload/base/driver.h"
#include "preload/base/heap.h"
#include "preload/guard.h"
#include "preload/hostside.h"
#include "preload/opcalls.h"

#define DEPTH_MAX 32 /* of child graphs in child graphs */

static void tell(CUgraphExec exec, CUgraphNode node, CUgraphNode owner, struct spill_opcall op)
{
    spill_guard_sink->graph_node(exec, node, owner, &op);
}

static void tell_plain(CUgraphExec exec, CUgraphNode node, CUgraphNode owner,
                       enum spill_opkind kind)
{
    tell(exec, node, owner, spill_opcalls_plain(kind, NULL));
}

/* --- what nodes are --- */

static struct spill_opcall kernel_op(const CUDA_KERNEL_NODE_PARAMS *p)
{
    CUfunction function = p->func != NULL ? p->func : (CUfunction)p->kern;
    return spill_opcalls_kernel(NULL, function, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX,
                                p->blockDimY, p->blockDimZ, p->kernelParams, p->extra);
}

/* What it copies is read again at each launch, so here it is the place that counts. */
static struct spill_opcall copy_op(const CUDA_MEMCPY3D *p)
{
    bool inside =
        p->srcMemoryType == CU_MEMORYTYPE_DEVICE && p->dstMemoryType == CU_MEMORYTYPE_DEVICE;
    struct spill_opcall op = spill_opcalls_3d(NULL, p, !inside);
    uint64_t first = (p->srcZ * p->srcHeight + p->srcY) * p->srcPitch + p->srcXInBytes;
    CUdeviceptr from = p->srcMemoryType == CU_MEMORYTYPE_HOST      ? (CUdeviceptr)p->srcHost
                       : p->srcMemoryType == CU_MEMORYTYPE_UNIFIED ? p->srcDevice
                                                                   : 0;
    op.host_source =
        spill_hostside_of(from) == SPILL_HOSTSIDE_NOT ? NULL : (const void *)(from + first);
    op.host_bytes =
        spill_hostside_span(p->WidthInBytes, p->Height, p->Depth, p->srcPitch, p->srcHeight);
    return op;
}

static bool may_be_updated(CUgraphNode node)
{
    CUkernelNodeAttrValue value;
    return SPILL_CU(cuGraphKernelNodeGetAttribute) != NULL &&
           SPILL_CU(cuGraphKernelNodeGetAttribute)(
               node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value) == CUDA_SUCCESS &&
           value.deviceUpdatableKernelNode.deviceUpdatable != 0;
}

static bool read_kernel(CUgraphNode node, struct spill_opcall *op)
{
    CUDA_KERNEL_NODE_PARAMS params;
    if (SPILL_CU(cuGraphKernelNodeGetParams_v2) == NULL || may_be_updated(node) ||
        SPILL_CU(cuGraphKernelNodeGetParams_v2)(node, &params) != CUDA_SUCCESS)
        return false;
    *op = kernel_op(&params);
    return true;
}

static bool read_copy(CUgraphNode node, struct spill_opcall *op)
{
    CUDA_MEMCPY3D params;
    if (SPILL_CU(cuGraphMemcpyNodeGetParams) == NULL ||
        SPILL_CU(cuGraphMemcpyNodeGetParams)(node, &params) != CUDA_SUCCESS)
        return false;
    *op = copy_op(&params);
    return true;
}

static bool read_set(CUgraphNode node, struct spill_opcall *op)
{
    CUDA_MEMSET_NODE_PARAMS params;
    if (SPILL_CU(cuGraphMemsetNodeGetParams) == NULL ||
        SPILL_CU(cuGraphMemsetNodeGetParams)(node, &params) != CUDA_SUCCESS)
        return false;
    *op = spill_opcalls_set(NULL, params.dst, params.width * params.elementSize * params.height);
    return true;
}

static bool read_values(CUgraphNode node)
{
    CUDA_BATCH_MEM_OP_NODE_PARAMS params;
    if (SPILL_CU(cuGraphBatchMemOpNodeGetParams) == NULL ||
        SPILL_CU(cuGraphBatchMemOpNodeGetParams)(node, &params) != CUDA_SUCCESS)
        return false;
    spill_graphwalk_values(params.paramArray, params.count);
    return true;
}

/* False: NODE is not understood. */
static bool read_node(CUgraphNode node, CUgraphNodeType type, struct spill_opcall *op)
{
    *op = spill_opcalls_plain(SPILL_OPKIND_HOST_FUNC, NULL);
    switch ((int)type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return read_kernel(node, op);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return read_copy(node, op);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return read_set(node, op);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return read_values(node);
    case CU_GRAPH_NODE_TYPE_HOST:
        *op = spill_opcalls_host(NULL);
        return true;
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: /* the driver's own memory */
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return true;
    default: /* conditional nodes among them: nothing tells what their bodies are */
        return false;
    }
}

/* --- graphs --- */

static bool walk(CUgraphExec exec, CUgraph graph, CUgraphNode owner, unsigned depth);

static bool walk_node(CUgraphExec exec, CUgraphNode node, CUgraphNode owner, unsigned depth)
{
    CUgraphNodeType type;
    CUgraph child;
    struct spill_opcall op;
    if (SPILL_CU(cuGraphNodeGetType) == NULL ||
        SPILL_CU(cuGraphNodeGetType)(node, &type) != CUDA_SUCCESS || !read_node(node, type, &op))
        return false;
    tell(exec, node, owner, op);
    return type != CU_GRAPH_NODE_TYPE_GRAPH ||
           (SPILL_CU(cuGraphChildGraphNodeGetGraph) != NULL &&
            SPILL_CU(cuGraphChildGraphNodeGetGraph)(node, &child) == CUDA_SUCCESS &&
            walk(exec, child, node, depth + 1));
}

/* False: it could not be read. Nodes that could not are told so. */
static bool walk(CUgraphExec exec, CUgraph graph, CUgraphNode owner, unsigned depth)
{
    size_t count = 0, asked;
    if (depth > DEPTH_MAX || SPILL_CU(cuGraphGetNodes) == NULL ||
        SPILL_CU(cuGraphGetNodes)(graph, NULL, &count) != CUDA_SUCCESS)
        return false;
    CUgraphNode *nodes = spill_heap_alloc((count + 1) * sizeof(CUgraphNode));
    asked = count;
    bool read = nodes != NULL &&
                (count == 0 || (SPILL_CU(cuGraphGetNodes)(graph, nodes, &asked) == CUDA_SUCCESS &&
                                asked == count));
    for (size_t i = 0; read && i < count; i++)
        if (!walk_node(exec, nodes[i], owner, depth))
            tell_plain(exec, nodes[i], owner, SPILL_OPKIND_ALL);
    spill_heap_free(nodes, (count + 1) * sizeof(CUgraphNode));
    return read;
}

void spill_graphwalk_more(CUgraphExec exec, CUgraph graph)
{
    if (!walk(exec, graph, NULL, 0))
        tell_plain(exec, NULL, NULL, SPILL_OPKIND_ALL);
}

void spill_graphwalk_made(CUgraphExec exec, CUgraph graph)
{
    spill_guard_sink->graph_made(exec);
    spill_graphwalk_more(exec, graph);
}

/* --- changes --- */

void spill_graphwalk_kernel_v1(CUgraphExec exec, CUgraphNode node,
                               const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    tell(exec, node, NULL,
         spill_opcalls_kernel(NULL, p->func, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX,
                              p->blockDimY, p->blockDimZ, p->kernelParams, p->extra));
}

void spill_graphwalk_kernel(CUgraphExec exec, CUgraphNode node,
                            const CUDA_KERNEL_NODE_PARAMS *params)
{
    tell(exec, node, NULL, kernel_op(params));
}

void spill_graphwalk_copy(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *copy)
{
    tell(exec, node, NULL, copy_op(copy));
}

void spill_graphwalk_set(CUgraphExec exec, CUgraphNode node, CUdeviceptr dst)
{
    tell(exec, node, NULL, spill_opcalls_set(NULL, dst, 0));
}

void spill_graphwalk_child(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
    spill_guard_sink->graph_emptied(exec, node);
    if (!walk(exec, child, node, 1))
        tell_plain(exec, node, NULL, SPILL_OPKIND_ALL);
}

void spill_graphwalk_values(const CUstreamBatchMemOpParams *list, unsigned int count)
{
    for (unsigned int i = 0; list != NULL && i < count; i++)
        if (spill_opcalls_value(&list[i]) != 0)
            spill_guard_sink->pin(spill_opcalls_value(&list[i]), SPILL_TRACE_PIN_STREAM_VALUE);
}

void spill_graphwalk_any(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *params)
{
    const CUDA_KERNEL_NODE_PARAMS_v3 *kernel = &params->kernel;
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        tell(exec, node, NULL,
             spill_opcalls_kernel(
                 NULL, kernel->func != NULL ? kernel->func : (CUfunction)kernel->kern,
                 kernel->gridDimX, kernel->gridDimY, kernel->gridDimZ, kernel->blockDimX,
                 kernel->blockDimY, kernel->blockDimZ, kernel->kernelParams, kernel->extra));
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        spill_graphwalk_copy(exec, node, &params->memcpy.copyParams);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        spill_graphwalk_set(exec, node, params->memset.dst);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        spill_graphwalk_child(exec, node, params->graph.graph);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        spill_graphwalk_values(params->memOp.paramArray, params->memOp.count);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        tell_plain(exec, node, NULL, SPILL_OPKIND_ALL);
        break;
    default:
        break; /* nothing that touches memory */
    }
}
