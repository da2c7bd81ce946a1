/* SPDX-License-Identifier: Apache-2.0 */
/* What check says of traces that a sound library would not write, or that are bad to plan from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/base/accessmode.h"
#include "tools/spillway/tracecheck.h"

enum { OPS = 6, BUFFERS = 3, MIB = 1 << 20 };

struct sample {
    struct spill_trace trace;
    struct spill_trace_op ops[OPS];
    struct spill_trace_access accesses[OPS];
    struct spill_trace_buffer buffers[BUFFERS];
    char names[2];
};

/* Six ops, each using one of three buffers of 4 MiB; the third lives from op 2 until before op 4.
 */
static void make(struct sample *s)
{
    static const uint32_t used[OPS] = {0, 1, 2, 2, 1, 0};
    memset(s, 0, sizeof(*s));
    for (uint32_t k = 0; k < OPS; k++) {
        s->ops[k] = (struct spill_trace_op){
            .name = SPILL_TRACE_NONE, .duration_ns = 1000, .access_first = k, .access_count = 1};
        s->accesses[k] = (struct spill_trace_access){used[k], SPILL_ACCESS_WRITE};
    }
    for (uint32_t b = 0; b < BUFFERS; b++)
        s->buffers[b] = (struct spill_trace_buffer){.address = (uint64_t)(b + 1) * 64 * MIB,
                                                    .bytes = 4 * MIB,
                                                    .site = SPILL_TRACE_NONE,
                                                    .life = SPILL_TRACE_PERSISTENT};
    s->buffers[2].life = SPILL_TRACE_ITERATION;
    s->buffers[2].birth_op = 2;
    s->buffers[2].free_op = 4;
    s->trace = (struct spill_trace){.ops = s->ops,
                                    .accesses = s->accesses,
                                    .buffers = s->buffers,
                                    .names = s->names,
                                    .op_count = OPS,
                                    .access_count = OPS,
                                    .buffer_count = BUFFERS,
                                    .name_bytes = 1,
                                    .out = {1000, 1000000000},
                                    .in = {1000, 1000000000},
                                    .iterations = 4,
                                    .page_bytes = 2 * MIB,
                                    .gpu_bytes = 64 * MIB,
                                    .peak_bytes = 12 * MIB};
}

/* The most serious finding about TOPIC in a trace is LEVEL, and one of them holds TEXT. */
static void expect(const struct sample *s, const char *topic, enum spill_finding_level level,
                   const char *text)
{
    struct spill_findings found = {NULL, 0, false};
    enum spill_finding_level most = SPILL_FINDING_OK;
    bool said = false;
    spill_tracecheck_trace(&s->trace, &found);
    for (size_t i = 0; i < found.count; i++) {
        if (strcmp(found.list[i].topic, topic) != 0)
            continue;
        most = found.list[i].level > most ? found.list[i].level : most;
        said |= strstr(found.list[i].text, text) != NULL;
    }
    assert_int_equal(most, level);
    assert_true(said);
    assert_false(found.lost);
    spill_finding_free(&found);
}

static void sound(void **state)
{
    struct sample s;
    struct spill_findings found = {NULL, 0, false};
    (void)state;
    make(&s);
    spill_tracecheck_trace(&s.trace, &found);
    assert_int_equal(spill_finding_worst(&found), SPILL_FINDING_OK);
    assert_in_range(found.count, 5, 5);
    spill_finding_free(&found);
}

static void contradictions(void **state)
{
    struct sample s;
    (void)state;
    make(&s);
    s.accesses[4].buffer = 2; /* freed before op 4 */
    expect(&s, "accesses", SPILL_FINDING_BAD, "op 4");
    make(&s);
    s.buffers[2].birth_op = 4; /* now its life crosses the border */
    s.buffers[2].free_op = 3;
    expect(&s, "accesses", SPILL_FINDING_BAD, "op 3");
    s.buffers[2].free_op = 4; /* born and freed at once: it never lives */
    expect(&s, "accesses", SPILL_FINDING_BAD, "2 of 6");
    make(&s);
    s.ops[2].access_count = 2; /* the second is op 3's: buffer 2 again */
    expect(&s, "accesses", SPILL_FINDING_BAD, "twice");
    make(&s);
    s.trace.peak_bytes = 11 * MIB;
    expect(&s, "memory", SPILL_FINDING_BAD, "12.0 MiB at once");
}

static void poor_ones(void **state)
{
    struct sample s;
    (void)state;
    make(&s);
    s.trace.iterations = 0;
    expect(&s, "iteration", SPILL_FINDING_WARN, "nothing repeats");
    s.trace.iterations = 3;
    s.trace.others = 4;
    expect(&s, "iteration", SPILL_FINDING_WARN, "4 times something else");
    s.trace.log_max = s.trace.log_bytes = MIB;
    expect(&s, "record", SPILL_FINDING_WARN, "1.0 MiB");
    for (uint32_t k = 0; k < 4; k++)
        s.ops[k].duration_ns = 0;
    expect(&s, "times", SPILL_FINDING_WARN, "4 of 6");
    s.ops[4].duration_ns = s.ops[5].duration_ns = 0;
    expect(&s, "times", SPILL_FINDING_BAD, "no operation");
    s.trace.paged_bytes = MIB;
    expect(&s, "paging", SPILL_FINDING_WARN, "1.0 MiB");
    s.buffers[0].pin = SPILL_TRACE_PIN_EXPORTED;
    expect(&s, "pinned", SPILL_FINDING_OK, "4.0 MiB never move");
    s.buffers[1].pin = SPILL_TRACE_PIN_USER;
    expect(&s, "pinned", SPILL_FINDING_WARN, "4.0 MiB never move");
    s.trace.in.bytes_per_s = 0;
    expect(&s, "links", SPILL_FINDING_WARN, "not measured");
    make(&s);
    s.buffers[1].bytes = 40 * MIB;
    s.trace.peak_bytes = 48 * MIB;
    s.accesses[0].buffer = s.accesses[5].buffer = 1;
    expect(&s, "blocks", SPILL_FINDING_WARN, "caching allocator");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sound), cmocka_unit_test(contradictions),
                                       cmocka_unit_test(poor_ones)};
    return cmocka_run_group_tests_name("tracecheck", tests, NULL, NULL);
}
