/* SPDX-License-Identifier: Apache-2.0 */
/* What a budget would do to a trace: the plan, memory and links over time under it, and what other
 * budgets would cost. */
#ifndef SPILL_FORECAST_H
#define SPILL_FORECAST_H

#include "tools/spillway/facts.h"
#include "tools/spillway/holding.h"
#include "tools/spillway/jsonout.h"
#include "tools/spillway/lanes.h"
#include "tools/spillway/plancurve.h"

enum { SPILL_FORECAST_CARDS = 11, SPILL_FORECAST_TEXT = 512, SPILL_FORECAST_LISTED = 20 };

struct spill_forecast_ask {
    uint64_t gpu_bytes;   /* 0: choose one that is worth looking at */
    uint64_t host_bytes;  /* 0: no limit */
    int points;           /* of the curve; 0: none; below 0: as many as the trace's size allows */
    const char *achieved; /* what a run achieved: a statistics file's text; NULL: not known */
};

/* A card by the memory that its name states. */
struct spill_forecast_card {
    uint32_t gib;
    uint64_t gpu_bytes; /* of which a program may have this much */
    uint64_t step_ns;   /* 0: not known, there is no curve */
    bool fits;
};

struct spill_forecast {
    const struct spill_facts *facts;
    const char *achieved;
    uint64_t gpu_bytes, host_bytes; /* the budgets planned for; host UINT64_MAX: no limit */
    char why[64];                   /* this GPU budget */
    struct spill_planleast least;
    struct spill_planrow whole; /* without a limit */
    struct spill_planrow row;   /* within the budget */
    struct spill_keptplan planned;
    struct spill_planrow curve[SPILL_PLANCURVE_MOST];
    uint32_t curve_count;
    struct spill_forecast_card cards[SPILL_FORECAST_CARDS];
    struct spill_holding before, after; /* after: empty when nothing fits; so are the lanes */
    struct spill_lane lanes[SPILL_LANES_COUNT];
};

/* Anything but SPILL_OK came with one line. Release FORECAST whatever the status. */
enum spill_status spill_forecast_build(const struct spill_facts *facts,
                                       const struct spill_forecast_ask *ask,
                                       struct spill_forecast *forecast);
void spill_forecast_free(struct spill_forecast *forecast);

/* The answer in one sentence or two, into OUT, which it returns. */
char *spill_forecast_verdict(const struct spill_forecast *forecast, char *out, size_t out_len);

/* Of move M of the plan: what it copies, and how long its last page is there before it is used. */
uint64_t spill_forecast_move_bytes(const struct spill_forecast *forecast, uint32_t m);
uint64_t spill_forecast_spare_ns(const struct spill_forecast *forecast, uint32_t m);

/* Members of the object that is open in JSON; all but the complete list of moves. */
void spill_forecast_json(const struct spill_forecast *forecast, struct spill_json *json);
/* Parts of it: an op by number and name; the lists of buffers and of the largest moves. */
void spill_forecast_json_op(struct spill_json *json, const struct spill_trace *trace,
                            const char *key, uint32_t op);
void spill_forecast_json_tables(const struct spill_forecast *forecast, struct spill_json *json);
/* "moves": every move of the plan, in the order of their copies out. */
void spill_forecast_json_moves(const struct spill_forecast *forecast, struct spill_json *json);

#endif
