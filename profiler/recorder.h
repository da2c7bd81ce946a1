/* SPDX-License-Identifier: Apache-2.0 */
/* The log of what the program does: every op, and every managed allocation and free, with the time
 * each op took. The iteration border is read off this log (border.c), and a trace is built from its
 * last period (iteration.c). Runs inside the turnstile; never on the planned path. */
#ifndef SPILL_RECORDER_H
#define SPILL_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <cudaTypedefs.h>

#include "preload/base/sink.h"
#include "preload/base/status.h"
#include "profiler/access.h"
#include "profiler/streamorder.h"

enum spill_log_kind { SPILL_LOGREC_OP, SPILL_LOGREC_ALLOC, SPILL_LOGREC_FREE };

struct spill_logrec {
    uint64_t key;    /* what happened and to what: equal keys, equal events */
    uint64_t prefix; /* hash of all keys up to here, this one included */
    uint64_t sum;    /* of the shapes of all records up to here: what was done, whatever to */
    uint32_t kind;   /* enum spill_log_kind */
    uint32_t opkind;
    /* allocations and frees */
    uint64_t serial;
    uint64_t addr;
    uint64_t bytes; /* also of copies and memsets */
    uint32_t site;
    uint32_t pin;      /* of a buffer that is freed: enum spill_trace_pin */
    bool begun, ended; /* begin_ns, end_ns are known */
    /* ops */
    CUfunction function;
    CUstream stream;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t touch_first; /* in touches */
    uint32_t touch_count;
    uint32_t after_first; /* in afters */
    uint32_t after_count;
    uint32_t timer;           /* index of its event pair, or SPILL_NO_TIMER once read */
    uint32_t twin;            /* index + 1 of the last record with this key, 0: none */
    int64_t begin_ns, end_ns; /* on the device, from the start of some op before; see timers.h */
    uint64_t duration_ns;     /* its share of that time; 0: not known */
    uint64_t paged;           /* bytes that the pager moved since the record before */
};

#define SPILL_NO_TIMER UINT32_MAX

struct spill_logtouch {
    uint64_t serial;
    uint32_t mode;
    uint32_t reserved;
};

/* An op that another one, or the host before that one was launched, waits for. */
struct spill_logafter {
    uint32_t record;
    bool host;
};

struct spill_timer {
    CUevent start, end;
    uint32_t record; /* whose time it holds, SPILL_NO_TIMER when free */
};

#define SPILL_SHAPES 16 /* remembered */
#define SPILL_SHAPE_TIMES                                                                          \
    8 /* planned that often, an iteration is a part of something, not the whole */

/* What an iteration does, whatever to (spill_border_sum), and how often it was planned. */
struct spill_shape {
    uint64_t sum;
    uint32_t period;
    uint32_t times;
};

struct spill_recorder {
    struct spill_logrec *records;
    size_t record_cap;
    uint32_t record_count;
    struct spill_logtouch *touches;
    size_t touch_cap;
    uint32_t touch_count;
    struct spill_logafter *afters;
    size_t after_cap;
    uint32_t after_count;
    struct spill_streamorder order;
    struct spill_afters host_waits; /* of the host, since the last op */
    uint64_t live_bytes; /* of managed buffers after the latest record: once the log is full, not
                            what lives now */
    struct spill_timer *timers;
    size_t timer_cap;
    uint32_t timer_count, next_timer;
    uint32_t read_timer; /* the pair that was read last and is not used again, or SPILL_NO_TIMER */
    int64_t read_begin_ns; /* when its op began */
    bool timing;           /* event pairs are recorded */
    uint64_t bytes_max;    /* of all the recorder's tables; 0: no bound */
    /* border detection */
    uint64_t *powers;
    size_t power_cap;
    uint32_t *last_seen;  /* hash table: index + 1 of the last record with a key; 0: empty */
    size_t last_seen_cap; /* a power of two */
    uint32_t distinct;    /* keys in it */
    uint32_t last_alloc;  /* index + 1 of the last allocation or free; 0: none */
    uint32_t marks[2];    /* record counts at the last two marks of the program */
    uint32_t mark_count;  /* since the log began */
    uint32_t mark_total;  /* ever */
    bool marks_only;      /* no border counts but the program's own */
    struct spill_shape seen[SPILL_SHAPES]; /* iterations that were planned */
    uint32_t seen_count;
    uint32_t known_period;        /* records of an iteration that is not looked for; 0: none */
    uint64_t known_sum;           /* and its spill_border_sum */
    uint64_t paged, paged_logged; /* bytes that the pager moved: until now, and until the last
                                     record */
};

/* Memory of the recorder's tables. */
uint64_t spill_recorder_bytes(const struct spill_recorder *rec);

/* Forgets the log (the event pairs stay). */
void spill_recorder_reset(struct spill_recorder *rec);

/* Gives everything back but the event pairs, which end with their context. */
void spill_recorder_end(struct spill_recorder *rec);

/* Around an op. The live bytes of MAP are part of what makes two moments the same. SPILL_ERR_NOMEM:
 * there is no memory, or bytes_max is reached (said once): the log ends here. */
enum spill_status spill_recorder_op_begin(struct spill_recorder *rec,
                                          const struct spill_bufmap *map,
                                          const struct spill_opcall *op,
                                          const struct spill_touches *touches);
void spill_recorder_op_end(struct spill_recorder *rec, const struct spill_opcall *op);
/* The host waited for AFTER before it went on. */
void spill_recorder_host_waited(struct spill_recorder *rec, const struct spill_afters *after);
enum spill_status spill_recorder_alloc(struct spill_recorder *rec, const struct spill_bufmap *map,
                                       uint32_t slot, bool freed);

/* After a record was added: the smallest PERIOD such that the last two stretches of PERIOD records
 * are equal, event by event and address by address, with the live bytes returning; 0 when there is
 * none. */
uint32_t spill_border_period(struct spill_recorder *rec);
/* The program marks an iteration's border here: the period, if what lies between the last three
 * marks is twice the same; 0 otherwise. Once there were that many marks, in this log or before it,
 * no other border counts. */
uint32_t spill_border_mark(struct spill_recorder *rec);
/* The last PERIOD records are about to be planned. False: this shape was planned too often, each
 * time in vain; from now on it is not taken for an iteration. */
bool spill_border_admit(struct spill_recorder *rec, uint32_t period);
/* Identifies what the last PERIOD records do, at any rotation and at any addresses. */
uint64_t spill_border_sum(const struct spill_recorder *rec, uint32_t period);
/* Internal to recorder.c and border.c: enters the newest record. */
void spill_border_push(struct spill_recorder *rec);
void spill_border_reset(struct spill_recorder *rec);

#endif
