/* SPDX-License-Identifier: Apache-2.0 */
/* Runs at exit and on request, in the host process: no malloc, no stdio. */
#include "replay/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "preload/base/fmt.h"
#include "preload/base/log.h"
#include "preload/base/outname.h"
#include "replay/engines.h"

struct writer {
    int fd;
    bool failed;
    bool first; /* of an object or an array: no comma before it */
    size_t used;
    char buffer[4096];
};

static void flush(struct writer *w)
{
    for (size_t done = 0; !w->failed && done < w->used;) {
        ssize_t n = write(w->fd, w->buffer + done, w->used - done);
        if (n > 0)
            done += (size_t)n;
        else
            w->failed = n == 0 || errno != EINTR;
    }
    w->used = 0;
}

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
    va_list args;
    if (sizeof(w->buffer) - w->used < 512)
        flush(w);
    va_start(args, format);
    w->used += spill_vfmt(w->buffer + w->used, sizeof(w->buffer) - w->used, format, args);
    va_end(args);
}

static void name(struct writer *w, const char *key)
{
    put(w, w->first ? "\"%s\":" : ",\"%s\":", key);
    w->first = false;
}

static void number(struct writer *w, const char *key, uint64_t value)
{
    name(w, key);
    put(w, "%llu", (unsigned long long)value);
}

static void text(struct writer *w, const char *key, const char *value)
{
    name(w, key);
    put(w, "\"");
    for (const unsigned char *c = (const unsigned char *)value; *c != '\0'; c++)
        put(w, *c < ' ' ? "\\u%04x" : *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    put(w, "\"");
}

static void open_in(struct writer *w, const char *key, char bracket)
{
    name(w, key);
    put(w, "%c", bracket);
    w->first = true;
}

static void close_in(struct writer *w, char bracket)
{
    put(w, "%c", bracket);
    w->first = false;
}

static void put_plan(struct writer *w, const struct spill_planstat *plan)
{
    put(w, w->first ? "{" : ",{");
    w->first = true;
    number(w, "ops", plan->op_count);
    number(w, "moves", plan->move_count);
    number(w, "planned_peak_bytes", plan->peak_bytes);
    number(w, "host_bytes", plan->host_bytes);
    number(w, "out_bytes", plan->out_bytes);
    number(w, "in_bytes", plan->in_bytes);
    number(w, "compute_ns", plan->compute_ns);
    number(w, "bound_ns", plan->bound_ns);
    number(w, "predicted_step_ns", plan->step_ns);
    number(w, "predicted_wait_in_ns", plan->wait_in_ns);
    number(w, "predicted_wait_memory_ns", plan->wait_memory_ns);
    number(w, "step_before_ns", plan->before_ns);
    number(w, "step_ns", plan->steps_timed == 0 ? 0 : plan->step_ns_sum / plan->steps_timed);
    number(w, "steps_timed", plan->steps_timed);
    number(w, "expected_step_ns", plan->expected_ns == 0 ? plan->step_ns : plan->expected_ns);
    number(w, "sampled_wait_in_ns", plan->sampled_wait_in_ns);
    number(w, "sampled_wait_memory_ns", plan->sampled_wait_memory_ns);
    number(w, "guarded", plan->guarded);
    number(w, "replayed", plan->replayed);
    close_in(w, '}');
}

static void put_counts(struct writer *w, const struct spill_engine *e)
{
    static const char *const reasons[SPILL_REASON_COUNT] = {
        [SPILL_REASON_OTHER_OP] = "other_op",   [SPILL_REASON_OTHER_ALLOC] = "other_alloc",
        [SPILL_REASON_NEW_PIN] = "new_pin",     [SPILL_REASON_MEMORY] = "memory",
        [SPILL_REASON_FAILED_OP] = "failed_op",
    };
    static const char *const causes[SPILL_STALL_COUNT] = {
        [SPILL_STALL_PAGING] = "paging",
        [SPILL_STALL_PLANNING] = "planning",
        [SPILL_STALL_GUARDING] = "guarding",
        [SPILL_STALL_SWITCHING] = "switching",
    };
    open_in(w, "ops", '{');
    number(w, "planned", e->account.ops_planned);
    number(w, "resident", e->account.ops_resident);
    number(w, "paged", e->account.ops_paged);
    close_in(w, '}');
    open_in(w, "fallbacks", '{');
    for (unsigned i = 0; i < SPILL_REASON_COUNT; i++)
        number(w, reasons[i], e->account.fallbacks[i]);
    close_in(w, '}');
    open_in(w, "host_stall_ns", '{');
    for (unsigned i = 0; i < SPILL_STALL_COUNT; i++)
        number(w, causes[i], e->account.stall_ns[i]);
    close_in(w, '}');
}

static void put_device(struct writer *w, const struct spill_engine *e)
{
    const struct spill_account *a = &e->account;
    put(w, w->first ? "{" : ",{");
    w->first = true;
    number(w, "ordinal", (uint64_t)e->dev.ordinal);
    text(w, "name", e->dev.name);
    number(w, "page_bytes", e->dev.page_bytes);
    number(w, "gpu_budget_bytes", e->dev.gpu_budget);
    number(w, "host_budget_bytes", e->dev.host_budget);
    number(w, "peak_bytes", e->dev.peak_bytes);
    number(w, "host_peak_bytes", e->dev.host.peak_bytes);
    number(w, "out_bytes", e->dev.out_bytes);
    number(w, "in_bytes", e->dev.in_bytes);
    number(w, "paged_out_bytes", e->dev.paged_out_bytes);
    number(w, "paged_in_bytes", e->dev.paged_in_bytes);
    number(w, "refused", e->dev.refused);
    put_counts(w, e);
    open_in(w, "feedback", '{');
    number(w, "sampled", a->feedback.sampled);
    number(w, "unexplained", a->feedback.unexplained);
    number(w, "planned", a->feedback.planned);
    number(w, "adopted", a->feedback.adopted);
    close_in(w, '}');
    number(w, "plan_count", a->plan_count);
    number(w, "plan_changes", a->changes);
    open_in(w, "plans", '[');
    for (uint32_t i = a->plan_count > SPILL_PLANSTATS ? a->plan_count - SPILL_PLANSTATS : 0;
         i < a->plan_count; i++)
        put_plan(w, &a->plans[i % SPILL_PLANSTATS]);
    close_in(w, ']');
    close_in(w, '}');
}

static void put_all(struct writer *w, uint64_t hooked_calls)
{
    put(w, "{");
    w->first = true;
    text(w, "format", "spillway-stats");
    number(w, "version", 1);
    number(w, "pid", (uint64_t)getpid());
    text(w, "program", program_invocation_name);
    number(w, "hooked_calls", hooked_calls);
    open_in(w, "devices", '[');
    for (unsigned i = 0; i < SPILL_ENGINES; i++)
        if (spill_engines[i].dev.peak_bytes != 0)
            put_device(w, &spill_engines[i]);
    close_in(w, ']');
    put(w, "}\n");
    flush(w);
}

void spill_stats_write(const struct spill_config *config, uint64_t hooked_calls)
{
    char path[1024], temporary[1024 + 8];
    struct writer w = {.fd = -1};
    if (config->stats[0] == '\0')
        return;
    if (!spill_outname_expand_ranked(config->stats, (int)getpid(), path, sizeof(path))) {
        spill_log_once(SPILL_LOG_ERROR, "no statistics: the name %s becomes too long",
                       config->stats);
        return;
    }
    spill_fmt(temporary, sizeof(temporary), "%s.tmp", path);
    w.fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w.fd < 0) {
        spill_log_once(SPILL_LOG_ERROR, "cannot write the statistics %s: %s", path,
                       strerror(errno));
        return;
    }
    put_all(&w, hooked_calls);
    if (close(w.fd) != 0 || w.failed || rename(temporary, path) != 0)
        spill_log_once(SPILL_LOG_ERROR, "cannot write the statistics %s: %s", path,
                       strerror(errno));
}
