/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/graphs.h"

#include <string.h>

#include "preload/base/accessmode.h"
#include "preload/base/driver.h"
#include "preload/base/fmt.h"
#include "preload/base/uthash_heap.h"
#include "profiler/access.h"
#include "profiler/kernels.h"
#include "profiler/mix.h"
#include "profiler/tensormaps.h"

struct node {
    CUgraphNode node;
    CUgraphNode owner;
    struct spill_graph_word *words;
    size_t word_cap;
    uint32_t word_count;
    bool everything;   /* it may touch anything */
    bool host_pending; /* it copies from or to host memory, or runs a function there */
    uint64_t shape;
    uint64_t source, source_bytes; /* host memory that it copies to the device */
    UT_hash_handle hh;
};

struct graph {
    CUgraphExec exec;
    struct node *nodes; /* by handle, in the order in which they were told */
    /* of all nodes, unless CHANGED */
    struct spill_graph_word *words;
    size_t word_cap;
    uint32_t word_count;
    bool everything, host_pending;
    bool carries; /* some node has a source */
    const struct spill_graph_shape *shape;
    bool changed;
    bool lost; /* there was no memory for all of it */
    UT_hash_handle hh;
};

struct shape {
    struct spill_graph_shape shape;
    UT_hash_handle hh;
};

static struct graph *graphs;
static struct shape *shapes;

static struct graph *find(CUgraphExec exec)
{
    struct graph *graph = NULL;
    HASH_FIND_PTR(graphs, &exec, graph);
    return graph;
}

static struct node *find_node(const struct graph *graph, CUgraphNode handle)
{
    struct node *node = NULL;
    HASH_FIND_PTR(graph->nodes, &handle, node);
    return node;
}

static void drop_words(struct node *node)
{
    spill_heap_free(node->words, node->word_cap * sizeof(*node->words));
    node->words = NULL;
    node->word_cap = node->word_count = 0;
}

static void drop_node(struct graph *graph, struct node *node)
{
    drop_words(node);
    HASH_DEL(graph->nodes, node);
    spill_heap_free(node, sizeof(*node));
}

static void drop_nodes(struct graph *graph)
{
    struct node *node, *next;
    HASH_ITER(hh, graph->nodes, node, next)
    {
        drop_node(graph, node);
    }
}

void spill_graphs_made(CUgraphExec exec)
{
    struct graph *graph = find(exec);
    if (graph == NULL) {
        graph = spill_heap_alloc(sizeof(*graph));
        if (graph == NULL)
            return;
        graph->exec = exec;
        HASH_ADD_PTR(graphs, exec, graph);
    }
    drop_nodes(graph);
    graph->changed = true;
    graph->lost = false;
}

void spill_graphs_end(CUgraphExec exec)
{
    struct graph *graph = find(exec);
    if (graph == NULL)
        return;
    drop_nodes(graph);
    spill_heap_free(graph->words, graph->word_cap * sizeof(*graph->words));
    HASH_DEL(graphs, graph);
    spill_heap_free(graph, sizeof(*graph));
}

void spill_graphs_emptied(CUgraphExec exec, CUgraphNode owner)
{
    struct graph *graph = find(exec);
    struct node *node = graph == NULL ? NULL : graph->nodes;
    while (node != NULL) {
        CUgraphNode handle = node->node;
        if (node->owner != owner) {
            node = node->hh.next;
            continue;
        }
        drop_node(graph, node);
        graph->changed = true;
        spill_graphs_emptied(exec, handle);
        node = graph->nodes; /* what came next may be gone, too */
    }
}

/* --- what a node does --- */

struct noting {
    struct graph *graph;
    struct node *node;
    uint64_t (*page_of)(uint64_t addr);
    uint32_t held;
};

static void add_word(struct noting *n, uint64_t addr, uint32_t mode)
{
    struct node *node = n->node;
    uint64_t page = n->page_of(addr);
    if (page == 0)
        return;
    for (uint32_t i = 0; i < node->word_count; i++)
        if (node->words[i].addr == page) {
            node->words[i].mode |= mode;
            return;
        }
    if (SPILL_HEAP_GROW(node->words, node->word_cap, (size_t)node->word_count + 1) != 0)
        n->graph->lost = true;
    else
        node->words[node->word_count++] = (struct spill_graph_word){page, mode, n->held};
}

static void add_param(void *noting, uint64_t word)
{
    add_word(noting, word, SPILL_ACCESS_UNKNOWN);
}

static void note_kernel(struct noting *n, const struct spill_opcall *op)
{
    const struct spill_kernel *kernel = spill_kernels_get(op->function);
    n->held = kernel != NULL && kernel->held;
    n->node->everything = !spill_access_words(op, add_param, n);
}

static uint64_t shape_of(const struct spill_opcall *op)
{
    uint64_t shape = spill_mix(op->kind, (uintptr_t)op->function);
    for (unsigned i = 0; i < 3; i++)
        shape = spill_mix(shape, (uint64_t)op->grid[i] << 32 | op->block[i]);
    return spill_mix(shape, op->bytes);
}

/* The entry of HANDLE, which may have to be made; NULL: no memory. What a node is when it is first
 * told of makes the graph's shape: parameters that the program sets from step to step do not. */
static struct node *entry_of(struct graph *graph, CUgraphNode handle, CUgraphNode owner,
                             const struct spill_opcall *op)
{
    struct node *node = find_node(graph, handle);
    if (node != NULL)
        return node;
    node = spill_heap_alloc(sizeof(*node));
    if (node == NULL)
        return NULL;
    node->node = handle;
    node->owner = owner;
    node->shape = shape_of(op);
    HASH_ADD_PTR(graph->nodes, node, node);
    if (find_node(graph, handle) == node)
        return node;
    spill_heap_free(node, sizeof(*node));
    return NULL;
}

void spill_graphs_node(CUgraphExec exec, CUgraphNode handle, CUgraphNode owner,
                       const struct spill_opcall *op, uint64_t (*page_of)(uint64_t addr))
{
    struct graph *graph = find(exec);
    if (graph == NULL)
        return;
    graph->changed = true;
    struct node *node = entry_of(graph, handle, owner, op);
    if (node == NULL) {
        graph->lost = true;
        return;
    }
    struct noting n = {graph, node, page_of, 0};
    drop_words(node);
    node->everything = op->kind == SPILL_OPKIND_ALL;
    node->host_pending = op->host_pending;
    for (uint32_t i = 0; i < op->range_count; i++)
        add_word(&n, op->ranges[i].addr, op->ranges[i].mode);
    if (op->kind == SPILL_OPKIND_KERNEL)
        note_kernel(&n, op);
    /* Addresses are aligned where they will stand. */
    uint64_t skip = op->range_count > 0 ? -op->ranges[0].addr & 7 : 0;
    bool carries = op->host_source != NULL && op->host_bytes >= skip + sizeof(uint64_t);
    node->source = carries ? (uintptr_t)op->host_source + skip : 0;
    node->source_bytes = carries ? op->host_bytes - skip : 0;
}

/* --- what all of them do --- */

static const struct spill_graph_shape *shape_for(uint64_t hash, uint32_t nodes)
{
    struct shape *shape = NULL;
    HASH_FIND(hh, shapes, &hash, sizeof(hash), shape);
    if (shape == NULL) {
        shape = spill_heap_alloc(sizeof(*shape));
        if (shape == NULL)
            return NULL;
        shape->shape.hash = hash;
        shape->shape.nodes = nodes;
        spill_fmt(shape->shape.name, sizeof(shape->shape.name), "graph, %u node%s", nodes,
                  nodes == 1 ? "" : "s");
        HASH_ADD(hh, shapes, shape.hash, sizeof(hash), shape);
    }
    return &shape->shape;
}

/* Places in a graph's words, plus 1, by a hash of the page: open addressing, at most half full. */
static uint32_t *places;
static size_t place_cap;

/* For so many WORDS: a mask of places; 0: no memory. */
static size_t clear_places(uint64_t words)
{
    size_t want = 64;
    while (want < 2 * words)
        want *= 2;
    if (SPILL_HEAP_GROW(places, place_cap, want) != 0)
        return 0;
    memset(places, 0, want * sizeof(*places));
    return want - 1;
}

static bool merge_word(struct graph *graph, struct spill_graph_word word, size_t mask)
{
    size_t at = spill_mix(0, word.addr) & mask;
    while (places[at] != 0 && graph->words[places[at] - 1].addr != word.addr)
        at = (at + 1) & mask;
    if (places[at] != 0) {
        graph->words[places[at] - 1].mode |= word.mode;
        graph->words[places[at] - 1].held |= word.held;
        return true;
    }
    if (SPILL_HEAP_GROW(graph->words, graph->word_cap, (size_t)graph->word_count + 1) != 0)
        return false;
    graph->words[graph->word_count++] = word;
    places[at] = graph->word_count;
    return true;
}

/* One list of all nodes' pages, in the order in which they are met. */
static bool merge(struct graph *graph)
{
    uint64_t words = 0;
    for (const struct node *node = graph->nodes; node != NULL; node = node->hh.next)
        words += node->word_count;
    size_t mask = clear_places(words);
    if (mask == 0)
        return false;
    graph->word_count = 0;
    for (const struct node *node = graph->nodes; node != NULL; node = node->hh.next)
        for (uint32_t i = 0; i < node->word_count; i++)
            if (!merge_word(graph, node->words[i], mask))
                return false;
    return true;
}

static void sum_up(struct graph *graph)
{
    uint64_t hash = SPILL_OPKIND_GRAPH;
    uint32_t nodes = 0;
    graph->host_pending = graph->carries = false;
    graph->everything = graph->lost || !merge(graph);
    for (const struct node *node = graph->nodes; node != NULL; node = node->hh.next) {
        hash = spill_mix(hash, node->shape);
        nodes++;
        graph->host_pending = graph->host_pending || node->host_pending;
        graph->carries = graph->carries || node->source != 0;
        graph->everything = graph->everything || node->everything;
    }
    graph->shape = shape_for(hash, nodes);
    graph->everything = graph->everything || graph->shape == NULL;
    graph->changed = false;
}

void spill_graphs_launch(struct spill_opcall *op)
{
    struct graph *graph = find(op->graph);
    if (graph != NULL && graph->changed)
        sum_up(graph);
    if (graph == NULL || graph->everything) {
        op->kind = SPILL_OPKIND_ALL;
        return;
    }
    op->function = (CUfunction)(uintptr_t)graph->shape;
    op->host_pending = graph->host_pending;
}

const struct spill_graph_word *spill_graphs_words(CUgraphExec exec, uint32_t *count)
{
    const struct graph *graph = find(exec);
    *count = graph == NULL ? 0 : graph->word_count;
    return graph == NULL ? NULL : graph->words;
}

/* --- what its copies carry --- */

/* Some memory of the driver's can only be read where it is. */
static const void *read_source(uint64_t from, uint64_t bytes)
{
    unsigned int type = 0;
    const void *data = spill_hostread(from, bytes);
    if (data == NULL && SPILL_CU(cuPointerGetAttribute) != NULL &&
        SPILL_CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, from) ==
            CUDA_SUCCESS &&
        type == CU_MEMORYTYPE_HOST)
        data = (const void *)(uintptr_t)from;
    return data;
}

void spill_graphs_sources(CUgraphExec exec, uint64_t most,
                          void (*with)(void *arg, const void *data, uint64_t bytes), void *arg)
{
    const struct graph *graph = find(exec);
    const struct node *node = graph == NULL || !graph->carries ? NULL : graph->nodes;
    /* Pieces overlap, or a tensor map might be cut in two. */
    const uint64_t step = SPILL_HOSTREAD_MAX - SPILL_TENSORMAP_BYTES;
    for (; node != NULL; node = node->hh.next)
        for (uint64_t at = 0; node->source_bytes <= most && at < node->source_bytes; at += step) {
            uint64_t left = node->source_bytes - at;
            uint64_t bytes = left < SPILL_HOSTREAD_MAX ? left : SPILL_HOSTREAD_MAX;
            const void *data = read_source(node->source + at, bytes);
            if (data != NULL)
                with(arg, data, bytes);
        }
}
