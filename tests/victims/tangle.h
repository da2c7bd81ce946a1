/* SPDX-License-Identifier: Apache-2.0 */
/* From a seed, the random iteration that tangle.cu runs: actions on buffers, streams and two host
 * threads, with just enough event waits and host waits that every order which CUDA allows gives the
 * same result. Vector clocks (Mattern 1989) tell what is ordered already, by the rules that CUDA
 * documents: a stream's own order, events, waits of the host, cudaFree, and the legacy stream
 * against blocking streams. The iteration is walked until a whole round of it needs nothing more.
 */
#ifndef TANGLE_H
#define TANGLE_H

#include <stdlib.h>
#include <string.h>

enum {
    LEGACY,
    OWN_MAIN,   /* the per-thread default stream of the main thread */
    OWN_WORKER, /* of the other one */
    BLOCKING,
    BLOCKING_HIGH,
    FREE_LOW, /* non-blocking, as the next two */
    FREE_HIGH,
    FRESH, /* created and destroyed in each iteration */
    STREAMS,
    BUFFERS = 20, /* the first ones live throughout, the others within an iteration */
    TEMPORARY = 8,
    PINNED = 3,
    ITEMS = BUFFERS + PINNED,
    ACTIONS = 4096,
    POOLED = 2, /* events that are recorded again and again */
    EVENTS = 512
};

enum kind {
    MIX,       /* a kernel: the first item becomes a mix of all */
    SET,       /* a memset of the first item */
    COPY,      /* device to device: the first item from the second */
    UPLOAD,    /* the first item, a buffer, from the second, which is pinned */
    DOWNLOAD,  /* the first item, which is pinned, from the second */
    HOST_FUNC, /* mixes a pinned item, in stream order */
    NOW,       /* DOWNLOAD that the host waits for */
    HOST_MIX,  /* the host itself mixes a pinned item */
    BEGIN,     /* a temporary buffer is allocated */
    END,       /* and freed */
    RECORD,
    WAIT,
    SYNC_STREAM,
    SYNC_EVENT,
    SYNC_DEVICE,
    STREAM_NEW,
    STREAM_END,
    TAKE_OVER /* what FRESH or OWN_WORKER did counts as STREAM's, which has waited for it */
};

struct action {
    int id, kind, thread, stream, event;
    int items[3], count;
    unsigned salt;
};

struct tangle {
    unsigned random;
    int free_is_barrier; /* the program relies on cudaFree to wait for the device */
    int fresh_worker;    /* a new worker thread in each iteration */
    unsigned alloc_rate; /* one in so many actions allocates or frees */
    unsigned host_rate;  /* and of those that the host waits for, one in so many stays */
    int uses[STREAMS];
    struct action list[ACTIONS];
    int count, next_id, events;
    /* the walk */
    long now, clock[STREAMS][STREAMS], host[STREAMS], last[STREAMS];
    long recorded[EVENTS][STREAMS];
    long wrote[ITEMS][STREAMS], read[ITEMS][STREAMS];
    int wrote_by[ITEMS][STREAMS], read_by[ITEMS][STREAMS]; /* ids of actions */
};

static unsigned tangle_random(struct tangle *t, unsigned below)
{
    unsigned x = t->random += 0x9e3779b9U; /* splitmix (Steele, Lea, Flood 2014), cut to 32 bits */
    x = (x ^ x >> 16) * 0x21f0aaadU;
    x = (x ^ x >> 15) * 0x735a2d97U;
    return (x ^ x >> 15) % below;
}

static struct action *tangle_insert(struct tangle *t, int at, int kind, int thread, int stream)
{
    if (t->count == ACTIONS || at > t->count)
        exit(66);
    memmove(&t->list[at + 1], &t->list[at], (t->count++ - at) * sizeof(t->list[0]));
    struct action *a = &t->list[at];
    memset(a, 0, sizeof(*a));
    a->id = ++t->next_id;
    a->kind = kind;
    a->thread = thread;
    a->stream = stream;
    a->salt = tangle_random(t, 1 << 20);
    return a;
}

/* --- the random actions, without their order --- */

static int tangle_stream(struct tangle *t, int thread)
{
    for (;;) {
        int s = (int)tangle_random(t, STREAMS);
        if (t->uses[s] && s != (thread == 0 ? OWN_WORKER : OWN_MAIN))
            return s;
    }
}

/* A buffer that lives now, unlike the ones given. */
static int tangle_buffer(struct tangle *t, const int *lives, const struct action *unlike)
{
    for (;;) {
        int b = (int)tangle_random(t, BUFFERS), taken = !lives[b];
        for (int i = 0; i < unlike->count; i++)
            taken |= unlike->items[i] == b;
        if (!taken)
            return b;
    }
}

static void tangle_use(struct action *a, int item)
{
    a->items[a->count++] = item;
}

static void tangle_work(struct tangle *t, const int *lives, int thread)
{
    static const int kinds[] = {MIX,       MIX,  MIX,      MIX,         MIX,
                                SET,       COPY, UPLOAD,   UPLOAD,      DOWNLOAD,
                                HOST_FUNC, NOW,  HOST_MIX, SYNC_STREAM, SYNC_DEVICE};
    int kind = kinds[tangle_random(t, sizeof(kinds) / sizeof(kinds[0]))];
    if (kind >= NOW && tangle_random(t, t->host_rate) != 0)
        kind = MIX;
    struct action *a = tangle_insert(t, t->count, kind, thread, tangle_stream(t, thread));
    if (kind == NOW)
        a->stream = t->uses[LEGACY] && tangle_random(t, 2) == 0 ? LEGACY : OWN_MAIN + thread;
    if (kind == NOW && !t->uses[a->stream])
        a->kind = MIX, a->stream = tangle_stream(t, thread);
    if (kind == DOWNLOAD || kind == NOW || kind == HOST_FUNC || kind == HOST_MIX) {
        if (a->kind != MIX)
            tangle_use(a, BUFFERS + (int)tangle_random(t, PINNED));
        if (kind == HOST_FUNC || kind == HOST_MIX)
            return;
    }
    if (a->kind != SYNC_STREAM && a->kind != SYNC_DEVICE)
        tangle_use(a, tangle_buffer(t, lives, a));
    if (a->kind == UPLOAD)
        tangle_use(a, BUFFERS + (int)tangle_random(t, PINNED));
    if (a->kind == COPY || a->kind == MIX)
        tangle_use(a, tangle_buffer(t, lives, a));
    if (a->kind == MIX && tangle_random(t, 2) == 0)
        tangle_use(a, tangle_buffer(t, lives, a));
}

static void tangle_begin_or_end(struct tangle *t, int *lives, int thread, int buffer)
{
    tangle_use(tangle_insert(t, t->count, lives[buffer] ? END : BEGIN, thread, 0), buffer);
    lives[buffer] = !lives[buffer];
    if (!lives[buffer])
        return;
    /* It is written in full before it is read. */
    struct action *a = tangle_insert(t, t->count, SET, thread, tangle_stream(t, thread));
    tangle_use(a, buffer);
}

/* What a stream that goes away, or a thread's, was given is waited for by another one. */
static void tangle_take_over(struct tangle *t, int thread, int stream)
{
    int by;
    do
        by = tangle_stream(t, 0);
    while (by == stream || by == FRESH || by == OWN_WORKER);
    int event = t->events++;
    tangle_insert(t, t->count, RECORD, thread, stream)->event = event;
    tangle_insert(t, t->count, WAIT, 0, by)->event = event;
    tangle_insert(t, t->count, TAKE_OVER, 0, by)->items[0] = stream;
}

static void tangle_actions(struct tangle *t, int work)
{
    int lives[BUFFERS], thread = 0;
    for (int b = 0; b < BUFFERS; b++)
        lives[b] = b < BUFFERS - TEMPORARY;
    if (t->uses[FRESH])
        tangle_insert(t, 0, STREAM_NEW, 0, FRESH);
    tangle_begin_or_end(t, lives, thread, BUFFERS - TEMPORARY); /* iterations allocate something */
    for (int i = 0; i < work; i++) {
        if (t->uses[OWN_WORKER] && tangle_random(t, 4) == 0)
            thread = !thread;
        if (tangle_random(t, t->alloc_rate) == 0)
            tangle_begin_or_end(t, lives, thread,
                                BUFFERS - 1 - (int)tangle_random(t, TEMPORARY - 1));
        tangle_work(t, lives, thread);
    }
    for (int b = 0; b < BUFFERS; b++)
        if (lives[b] && b >= BUFFERS - TEMPORARY)
            tangle_begin_or_end(t, lives, 0, b);
    if (t->uses[FRESH]) {
        tangle_take_over(t, 0, FRESH);
        tangle_insert(t, t->count, STREAM_END, 0, FRESH);
    }
    if (t->uses[OWN_WORKER] && t->fresh_worker)
        tangle_take_over(t, 1, OWN_WORKER);
}

/* --- their order --- */

static void tangle_join(long *clock, const long *other)
{
    for (int s = 0; s < STREAMS; s++)
        if (clock[s] < other[s])
            clock[s] = other[s];
}

static int tangle_blocks(int stream)
{
    return (stream >= OWN_MAIN && stream <= BLOCKING_HIGH) || stream == FRESH;
}

/* What is enqueued on STREAM now comes after: */
static void tangle_known(const struct tangle *t, int stream, long *known)
{
    memcpy(known, t->clock[stream], sizeof(t->clock[stream]));
    tangle_join(known, t->host);
    for (int s = 0; s < STREAMS; s++) {
        if (stream == LEGACY ? !tangle_blocks(s) : s != LEGACY || !tangle_blocks(stream))
            continue;
        tangle_join(known, t->clock[s]);
        known[s] = t->last[s];
    }
}

static int tangle_writes(const struct action *a, int i)
{
    return i == 0 || a->kind == HOST_FUNC || a->kind == HOST_MIX;
}

static int tangle_is_op(const struct action *a)
{
    return a->kind <= NOW;
}

/* The first stream whose work A must still be ordered after, *SOURCE the last action of it. */
static int tangle_missing(const struct tangle *t, const struct action *a, int *source)
{
    long known[STREAMS];
    if (a->kind == HOST_MIX)
        memcpy(known, t->host, sizeof(known));
    else
        tangle_known(t, a->stream, known);
    for (int i = 0; i < a->count; i++)
        for (int s = 0; s < STREAMS; s++) {
            int x = a->items[i];
            if (a->kind != HOST_MIX && s == a->stream)
                continue;
            *source = t->wrote_by[x][s];
            if (t->wrote[x][s] > known[s])
                return s;
            *source = t->read_by[x][s];
            if (tangle_writes(a, i) && t->read[x][s] > known[s])
                return s;
        }
    return -1;
}

static int tangle_find(const struct tangle *t, int id)
{
    int at = 0;
    while (t->list[at].id != id)
        at++;
    return at;
}

/* Puts what orders action AT after SOURCE, of STREAM, before it; returns where that begins. */
static int tangle_order(struct tangle *t, int at, int stream, int source)
{
    struct action *a = &t->list[at];
    int thread = a->thread, to = a->stream, by_host = a->kind == HOST_MIX;
    int theirs = stream == (thread == 0 ? OWN_WORKER : OWN_MAIN);
    unsigned how = 1 + tangle_random(t, 7); /* 0: by the host */
    if (by_host || tangle_random(t, 4 * t->host_rate) == 0)
        how = 0;
    if (how != 0 && theirs + (how & 1) == 0) {
        int event = (int)tangle_random(t, POOLED);
        tangle_insert(t, at, RECORD, thread, stream)->event = event;
        tangle_insert(t, at + 1, WAIT, thread, to)->event = event;
        return at;
    }
    if (how == 0 && !theirs && tangle_random(t, 2) == 0) {
        tangle_insert(t, at, SYNC_STREAM, thread, stream);
        return at;
    }
    int event = t->events++, from = tangle_find(t, source) + 1;
    if (event == EVENTS)
        exit(66);
    tangle_insert(t, from, RECORD, t->list[from - 1].thread, stream)->event = event;
    at += from <= at;
    tangle_insert(t, at, how == 0 ? SYNC_EVENT : WAIT, thread, to)->event = event;
    /* As of this round the record was made right after its source, and tells of it at least. */
    memset(t->recorded[event], 0, sizeof(t->recorded[event]));
    for (int x = 0; x < ITEMS; x++) {
        if (t->wrote_by[x][stream] == source && t->wrote[x][stream] > t->recorded[event][stream])
            t->recorded[event][stream] = t->wrote[x][stream];
        if (t->read_by[x][stream] == source && t->read[x][stream] > t->recorded[event][stream])
            t->recorded[event][stream] = t->read[x][stream];
    }
    return at;
}

static void tangle_touch(struct tangle *t, const struct action *a)
{
    for (int i = 0; i < a->count; i++) {
        int x = a->items[i];
        (tangle_writes(a, i) ? t->wrote : t->read)[x][a->stream] = t->now;
        (tangle_writes(a, i) ? t->wrote_by : t->read_by)[x][a->stream] = a->id;
    }
}

/* FROM's touches count as BY's last one. */
static void tangle_move_touches(struct tangle *t, const struct action *a, int from)
{
    int by = a->stream;
    t->clock[by][by] = t->last[by] = ++t->now;
    for (int x = 0; x < ITEMS; x++) {
        if (t->wrote[x][from] != 0)
            t->wrote[x][by] = t->now, t->wrote_by[x][by] = a->id;
        if (t->read[x][from] != 0)
            t->read[x][by] = t->now, t->read_by[x][by] = a->id;
        t->wrote[x][from] = t->read[x][from] = 0;
    }
    memset(t->clock[from], 0, sizeof(t->clock[from]));
    t->last[from] = 0;
}

static void tangle_step(struct tangle *t, const struct action *a)
{
    long *clock = t->clock[a->stream];
    if (tangle_is_op(a)) {
        tangle_known(t, a->stream, clock);
        clock[a->stream] = t->last[a->stream] = ++t->now;
        tangle_touch(t, a);
    }
    if (a->kind == RECORD)
        memcpy(t->recorded[a->event], clock, sizeof(t->clock[0]));
    if (a->kind == WAIT)
        tangle_join(clock, t->recorded[a->event]);
    if (a->kind == SYNC_EVENT)
        tangle_join(t->host, t->recorded[a->event]);
    if (a->kind == SYNC_STREAM || a->kind == NOW)
        tangle_join(t->host, clock);
    if (a->kind == SYNC_DEVICE || (a->kind == END && t->free_is_barrier))
        for (int s = 0; s < STREAMS; s++)
            tangle_join(t->host, t->clock[s]);
    for (int s = 0; a->kind == END && s < STREAMS; s++)
        t->wrote[a->items[0]][s] = t->read[a->items[0]][s] =
            0; /* cudaFree waits, whoever counts on it */
    if (a->kind == TAKE_OVER)
        tangle_move_touches(t, a, a->items[0]);
}

/* One round; true if it had to add something. */
static int tangle_round(struct tangle *t)
{
    int added = 0, source;
    for (int at = 0; at < t->count;) {
        const struct action *a = &t->list[at];
        int stream = tangle_is_op(a) || a->kind == HOST_MIX ? tangle_missing(t, a, &source) : -1;
        if (stream < 0) {
            tangle_step(t, a);
            at++;
            continue;
        }
        at = tangle_order(t, at, stream, source);
        added = 1;
    }
    return added;
}

static void tangle_make(struct tangle *t, unsigned seed, int work)
{
    memset(t, 0, sizeof(*t));
    t->random = seed * 2654435761U;
    t->events = POOLED;
    t->free_is_barrier = (int)tangle_random(t, 2);
    t->fresh_worker = (int)tangle_random(t, 2);
    t->alloc_rate = tangle_random(t, 2) == 0 ? 4 : 1000;
    t->host_rate = tangle_random(t, 2) == 0 ? 2 : 1000;
    for (int s = 0; s < STREAMS; s++)
        t->uses[s] = tangle_random(t, s == FRESH ? 4 : 2) == 0;
    t->uses[FREE_LOW] = 1;
    t->uses[(int)tangle_random(t, FREE_LOW)] = 1;
    t->uses[OWN_MAIN] = t->uses[OWN_MAIN] || !(t->uses[LEGACY] || t->uses[BLOCKING]);
    tangle_actions(t, work);
    while (tangle_round(t))
        ;
}

#endif
