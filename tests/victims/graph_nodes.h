/* SPDX-License-Identifier: Apache-2.0 */
/* graph_train --nodes: a graph built by hand, a memset, a copy and a child graph with a copy, each
 * of which another call gives another buffer in each step. */
static cudaGraph_t hand, inner[2];
static CUgraphExec hand_exec;
static CUgraphNode hand_set, hand_copy, hand_child;
static float *hand_buffer[4];
static CUcontext hand_context;

static CUDA_MEMSET_NODE_PARAMS zero(float *p)
{
    CUDA_MEMSET_NODE_PARAMS set = {};
    set.dst = (CUdeviceptr)p;
    set.elementSize = 4;
    set.width = count / 2;
    set.height = 1;
    return set;
}

static CUDA_MEMCPY3D from_to(float *from, float *to)
{
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = (CUdeviceptr)from;
    copy.dstDevice = (CUdeviceptr)to;
    copy.WidthInBytes = count * sizeof(float);
    copy.Height = copy.Depth = 1;
    return copy;
}

static void nodes_make(void)
{
    CUgraphNode node;
    for (int i = 0; i < 4; i++)
        hand_buffer[i] = make_buffer(0);
    CHECK_ANY(cuCtxGetCurrent(&hand_context));
    for (int i = 0; i < 2; i++) {
        CUDA_MEMCPY3D copy = from_to(weight[i], hand_buffer[2 + i]);
        CHECK_ANY(cuGraphCreate(&inner[i], 0));
        CHECK_ANY(cuGraphAddMemcpyNode(&node, inner[i], NULL, 0, &copy, hand_context));
    }
    CUDA_MEMSET_NODE_PARAMS set = zero(hand_buffer[0]);
    CUDA_MEMCPY3D copy = from_to(moment[0], hand_buffer[1]);
    CHECK_ANY(cuGraphCreate(&hand, 0));
    CHECK_ANY(cuGraphAddMemsetNode(&hand_set, hand, NULL, 0, &set, hand_context));
    CHECK_ANY(cuGraphAddMemcpyNode(&hand_copy, hand, &hand_set, 1, &copy, hand_context));
    CHECK_ANY(cuGraphAddChildGraphNode(&hand_child, hand, &hand_copy, 1, inner[0]));
    CHECK_ANY(cuGraphInstantiateWithFlags(&hand_exec, hand, 0));
}

/* By the calls for each kind of node, and by the one for all kinds. */
static void nodes_change(int odd)
{
    CUDA_MEMSET_NODE_PARAMS set = zero(hand_buffer[odd]);
    CUDA_MEMCPY3D copy = from_to(moment[odd], hand_buffer[!odd]);
    CUgraphNodeParams any = {};
    if (odd) {
        CHECK_ANY(cuGraphExecMemsetNodeSetParams(hand_exec, hand_set, &set, hand_context));
        CHECK_ANY(cuGraphExecMemcpyNodeSetParams(hand_exec, hand_copy, &copy, hand_context));
        CHECK_ANY(cuGraphExecChildGraphNodeSetParams(hand_exec, hand_child, inner[1]));
        return;
    }
    any.type = CU_GRAPH_NODE_TYPE_MEMSET;
    any.memset.dst = set.dst;
    any.memset.elementSize = set.elementSize;
    any.memset.width = set.width;
    any.memset.height = set.height;
    CHECK_ANY(cuGraphExecNodeSetParams(hand_exec, hand_set, &any));
    any = (CUgraphNodeParams){};
    any.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    any.memcpy.copyParams = copy;
    CHECK_ANY(cuGraphExecNodeSetParams(hand_exec, hand_copy, &any));
    any = (CUgraphNodeParams){};
    any.type = CU_GRAPH_NODE_TYPE_GRAPH;
    any.graph.graph = inner[0];
    CHECK_ANY(cuGraphExecNodeSetParams(hand_exec, hand_child, &any));
}

static void nodes_step(int number)
{
    int odd = number % 2;
    if (plain) {
        CHECK(cudaMemsetAsync(hand_buffer[odd], 0, count * sizeof(float) / 2, stream));
        CHECK(cudaMemcpyAsync(hand_buffer[!odd], moment[odd], count * sizeof(float),
                              cudaMemcpyDeviceToDevice, stream));
        CHECK(cudaMemcpyAsync(hand_buffer[2 + odd], weight[odd], count * sizeof(float),
                              cudaMemcpyDeviceToDevice, stream));
    } else {
        nodes_change(odd);
        CHECK_ANY(cuGraphLaunch(hand_exec, (CUstream)stream));
    }
    for (int i = 0; i < 4; i += 2)
        sum<<<1, 32, 0, stream>>>(hand_buffer[i], hand_buffer[i + 1], count, total);
}
