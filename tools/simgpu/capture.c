/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture: a capturing stream keeps a frontier of nodes instead of a last operation. Waiting
 * for an event that was recorded in a capture draws another stream into it. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "stream.h"

struct simgpu_capture {
    struct simgpu_capture *next; /* those that forbid unsafe calls, until they end */
    const void *thread;          /* that began it */
    struct simgpu_graph *graph;
    struct simgpu_stream *origin;
    unsigned long long id;
    uint32_t refs; /* streams and events */
    CUstreamCaptureMode mode;
    bool invalid, over;
};

static struct simgpu_capture *strict;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static unsigned long long next_id;

static void release(struct simgpu_capture *c)
{
    if (c != NULL && --c->refs == 0)
        free(c);
}

static bool frontier_add(struct simgpu_frontier *f, struct simgpu_node *node)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->nodes[i] == node)
            return true;
    struct simgpu_node **grown = realloc(f->nodes, (f->count + 1) * sizeof(struct simgpu_node *));
    if (grown == NULL)
        return false;
    f->nodes = grown;
    f->nodes[f->count++] = node;
    return true;
}

static void frontier_clear(struct simgpu_frontier *f)
{
    free(f->nodes);
    *f = (struct simgpu_frontier){0};
}

static void leave(struct simgpu_stream *s)
{
    release(s->capture);
    s->capture = NULL;
    frontier_clear(&s->frontier);
}

static CUgraphNodeType node_type(const struct simgpu_op *op)
{
    if (op->launch_name != NULL)
        return CU_GRAPH_NODE_TYPE_KERNEL;
    if (strncmp(op->type->name, "copy", 4) == 0)
        return CU_GRAPH_NODE_TYPE_MEMCPY;
    if (strcmp(op->type->name, "memset") == 0)
        return CU_GRAPH_NODE_TYPE_MEMSET;
    return strcmp(op->type->name, "host function") == 0 ? CU_GRAPH_NODE_TYPE_HOST
                                                        : CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
}

void simgpu_capture_op(struct simgpu_op *op)
{
    struct simgpu_stream *s = op->stream;
    struct simgpu_op *template = simgpu_template_new();
    struct simgpu_node *node = NULL;
    if (template != NULL) {
        template->type = op->type;
        template->engine = op->engine;
        template->launch_name = op->launch_name;
        template->u = op->u; /* the payload moves over */
        node = simgpu_graph_add(s->capture->graph, node_type(op), template, s->frontier.nodes,
                                s->frontier.count);
    }
    if (node == NULL) {
        s->capture->invalid = true;
        return;
    }
    s->frontier.count = 0;
    if (!frontier_add(&s->frontier, node))
        s->capture->invalid = true;
}

CUresult simgpu_capture_node(struct simgpu_stream *s, CUgraphNodeType type, struct simgpu_op *op,
                             struct simgpu_graph *child)
{
    struct simgpu_node *node =
        simgpu_graph_add(s->capture->graph, type, op, s->frontier.nodes, s->frontier.count);
    if (node == NULL) {
        simgpu_template_free(op);
        if (child != NULL)
            simgpu_graph_free(child);
        s->capture->invalid = true;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->child = child;
    if (child != NULL)
        child->child = true;
    s->frontier.count = 0;
    if (!frontier_add(&s->frontier, node))
        s->capture->invalid = true;
    return CUDA_SUCCESS;
}

CUresult simgpu_capture_record(struct simgpu_stream *s, struct simgpu_event *e)
{
    simgpu_event_uncapture(e);
    e->capture = s->capture;
    e->capture->refs++;
    for (size_t i = 0; i < s->frontier.count; i++)
        if (!frontier_add(&e->frontier, s->frontier.nodes[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

void simgpu_event_uncapture(struct simgpu_event *e)
{
    release(e->capture);
    e->capture = NULL;
    frontier_clear(&e->frontier);
}

CUresult simgpu_capture_wait(struct simgpu_stream *s, struct simgpu_event *e)
{
    struct simgpu_capture *c = e->capture;
    if (c == NULL || c->over) {
        /* A capturing stream may not depend on work outside of its capture. */
        s->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (s->capture == NULL) {
        s->capture = c;
        c->refs++;
    } else if (s->capture != c) {
        s->capture->invalid = c->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    for (size_t i = 0; i < e->frontier.count; i++)
        if (!frontier_add(&s->frontier, e->frontier.nodes[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

CUresult simgpu_capture_forbids(struct simgpu_stream *s)
{
    if (s != NULL && s->capture != NULL) {
        s->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (s != NULL || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    /* Without a stream: a call that waits for everything, or may. Other threads' captures count
     * unless either side says that they do not. */
    CUresult result = CUDA_SUCCESS;
    for (struct simgpu_capture *c = strict; c != NULL; c = c->next) {
        bool global = c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                      thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!global && c->thread != &thread_mode)
            continue;
        c->invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

/* The legacy stream would have to wait for a blocking stream that captures. */
CUresult simgpu_capture_forbids_legacy(struct simgpu_stream *legacy)
{
    for (struct simgpu_stream *s = legacy->ctx->streams; s != NULL; s = s->next) {
        if (s->capture != NULL && simgpu_stream_blocks(s)) {
            s->capture->invalid = true;
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    }
    return CUDA_SUCCESS;
}

/* "Invalid to query the status of or synchronize a broader handle": in any mode. */
CUresult simgpu_capture_forbids_context(struct simgpu_ctx *ctx)
{
    CUresult result = simgpu_capture_forbids(NULL);
    for (struct simgpu_stream *s = ctx->streams; s != NULL; s = s->next)
        if (s->capture != NULL) {
            s->capture->invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return result;
}

CUresult simgpu_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    struct simgpu_stream *s = simgpu_stream_of(stream);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (s->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture != NULL || (unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return s->capture != NULL ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_VALUE;
    struct simgpu_capture *c = calloc(1, sizeof *c);
    if (c == NULL || (c->graph = simgpu_graph_new()) == NULL) {
        free(c);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    c->origin = s;
    c->id = ++next_id;
    c->refs = 1;
    c->mode = mode;
    c->thread = &thread_mode;
    if (mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
        c->next = strict;
        strict = c;
    }
    s->capture = c;
    return CUDA_SUCCESS;
}

static bool reaches(const struct simgpu_frontier *f, const struct simgpu_node *node)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->nodes[i] == node)
            return true;
    return false;
}

CUresult simgpu_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    struct simgpu_stream *s = simgpu_stream_of(stream);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (graph == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_capture *c = s->capture;
    if (c == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    CUresult result = c->invalid       ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                      : c->origin != s ? CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
                                       : CUDA_SUCCESS;
    /* Every stream that was drawn in has to have been joined again: its newest nodes have
     * successors. */
    for (struct simgpu_stream *t = s->ctx->streams; t != NULL; t = t->next) {
        for (size_t i = 0; t != s && t->capture == c && i < t->frontier.count; i++) {
            bool joined = reaches(&s->frontier, t->frontier.nodes[i]);
            for (size_t n = 0; !joined && n < c->graph->count; n++)
                for (size_t k = 0; k < c->graph->nodes[n]->count; k++)
                    joined |= c->graph->nodes[n]->before[k] == t->frontier.nodes[i];
            if (!joined && result == CUDA_SUCCESS)
                result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        }
    }
    for (struct simgpu_capture **link = &strict; *link != NULL; link = &(*link)->next) {
        if (*link == c) {
            *link = c->next;
            break;
        }
    }
    c->over = true;
    c->refs++;
    for (struct simgpu_stream *t = s->ctx->streams; t != NULL; t = t->next)
        if (t->capture == c)
            leave(t);
    if (result == CUDA_SUCCESS)
        *graph = (CUgraph)c->graph;
    else
        simgpu_graph_free(c->graph);
    c->graph = NULL;
    release(c);
    if (result != CUDA_SUCCESS)
        *graph = NULL;
    return result;
}

CUresult simgpu_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    if (mode == NULL || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode previous = thread_mode;
    thread_mode = *mode;
    *mode = previous;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    return simgpu_cuStreamGetCaptureInfo_v3(stream, status, NULL, NULL, NULL, NULL, NULL);
}

CUresult simgpu_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status,
                                       cuuint64_t *id)
{
    return simgpu_cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult simgpu_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
                                          cuuint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
                                          size_t *count)
{
    return simgpu_cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, NULL, count);
}

CUresult simgpu_cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status,
                                          cuuint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
                                          const CUgraphEdgeData **edges, size_t *count)
{
    const struct simgpu_stream *s = simgpu_stream_of(stream);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (status == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    /* As documented: an answer for the legacy stream, and no harm to the capture. */
    for (const struct simgpu_stream *t = s->legacy ? s->ctx->streams : NULL; t != NULL; t = t->next)
        if (t->capture != NULL && simgpu_stream_blocks(t))
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    const struct simgpu_capture *c = s->capture;
    *status = c == NULL    ? CU_STREAM_CAPTURE_STATUS_NONE
              : c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                           : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (c == NULL)
        return CUDA_SUCCESS;
    if (id != NULL)
        *id = c->id;
    if (graph != NULL)
        *graph = (CUgraph)c->graph;
    if (nodes != NULL)
        *nodes = (const CUgraphNode *)(const void *)s->frontier.nodes;
    if (edges != NULL)
        *edges = NULL;
    if (count != NULL)
        *count = s->frontier.count;
    return CUDA_SUCCESS;
}
