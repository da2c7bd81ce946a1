/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of a trace with everything awkward in it: two streams, a life across the border, a
 * buffer without an op, names that are no UTF-8 or hold quotes, pins, and sizes beyond 32 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/spillway/facts.h"
#include "tools/spillway/pickle.h"
#include "tools/spillway/tracetext.h"
#include "tools/spillway/utf8text.h"

#define GIB (UINT64_C(1) << 30)

static char names[] = "\0_Z6affineILi64EEvPKf\0say \"hi\"\\\n\xff\0"
                      "cudaMalloc+0x42 in libcudart.so.13;_ZN3net5buildEv+0x10 in a in b;0x2 in "
                      "prog\0prog\0";
enum { AFFINE = 1, ODD = 22, SITE = 34 };

static struct spill_trace_op ops[] = {
    {.duration_ns = 1500, .name = AFFINE, .access_count = 2, .grid = {1, 2, 3}},
    {.duration_ns = 1000000001,
     .kind = 1,
     .name = ODD,
     .stream = 7,
     .access_first = 2,
     .access_count = 1},
    {.duration_ns = 1, .kind = 99, .name = SPILL_TRACE_NONE},
};
static struct spill_trace_access accesses[] = {{0, 1}, {1, 2}, {0, 3}};
static struct spill_trace_buffer buffers[] = {
    {.address = UINT64_C(1) << 45, .bytes = 5 * GIB, .site = SITE},
    {.address = 4096,
     .bytes = 100,
     .life = SPILL_TRACE_ITERATION,
     .birth_op = 2,
     .free_op = 1,
     .site = SITE,
     .pin = SPILL_TRACE_PIN_TEXTURE},
    {.address = 8192,
     .bytes = 7,
     .life = SPILL_TRACE_ITERATION,
     .birth_op = 1,
     .free_op = 1,
     .site = SPILL_TRACE_NONE},
    {.address = 8192,
     .bytes = 30,
     .life = SPILL_TRACE_ITERATION,
     .birth_op = 1,
     .free_op = 3,
     .site = SPILL_TRACE_NONE},
};
static const struct spill_trace trace = {
    .ops = ops,
    .accesses = accesses,
    .buffers = buffers,
    .names = names,
    .op_count = 3,
    .access_count = 3,
    .buffer_count = 4,
    .name_bytes = sizeof(names),
    .page_bytes = 4096,
    .program = ODD,
    .device_name = SPILL_TRACE_NONE,
};

static struct spill_facts facts;
static char text[1 << 16];
static size_t text_len;

/* Runs WRITE into text. */
static void capture(bool (*write)(const struct spill_facts *, FILE *))
{
    FILE *out = fmemopen(text, sizeof(text), "w");
    assert_non_null(out);
    assert_true(write(&facts, out));
    text_len = (size_t)ftell(out);
    assert_int_equal(fclose(out), 0);
}

static int setup(void **state)
{
    (void)state;
    return spill_facts_build(&trace, &facts) == SPILL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    spill_facts_free(&facts);
    return 0;
}

static void lives(void **state)
{
    (void)state;
    static const struct spill_lifeline_event expected[] = {
        {1, 1, true}, {1, 2, false}, {1, 3, false}, {1, 2, true}, {2, 1, false}, {3, 3, true}};
    assert_int_equal(facts.line.event_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(facts.line.events[i].op, expected[i].op);
        assert_int_equal(facts.line.events[i].buffer, expected[i].buffer);
        assert_int_equal(facts.line.events[i].frees, expected[i].frees);
    }
    assert_true(facts.line.at_border[0] && facts.line.at_border[1]);
    assert_false(facts.line.at_border[2] || facts.line.at_border[3]);
    assert_true(facts.line.live[0] == 5 * GIB + 100);
    assert_true(facts.line.live[1] == 5 * GIB + 30);
    assert_true(facts.line.live[2] == 5 * GIB + 130);
    assert_true(facts.line.live[3] == facts.line.live[0]); /* a circle */
}

static void json(void **state)
{
    (void)state;
    capture(spill_report_json);
    assert_non_null(strstr(text, "\"program\": \"say \\\"hi\\\"\\\\\\u000a" SPILL_UTF8_BAD "\""));
    assert_non_null(strstr(text, "\"device\": null"));
    assert_non_null(strstr(text, "\"name\": \"affine<64"));
    assert_non_null(strstr(text, "\"kind\": \"other\", \"name\": \"?\", \"symbol\": null"));
    assert_non_null(strstr(text, "\"pinned\": \"texture\""));
    assert_non_null(strstr(text, "\"address\": \"0x200000000000\", \"bytes\": 5368709120"));
    /* Idle from the end of op 1 to op 0 of the next iteration. */
    assert_non_null(strstr(text, "\"idle_ns\": 1, \"idle_byte_seconds\": 5.368709"));
}

static void csv(void **state)
{
    (void)state;
    capture(spill_report_csv_ops);
    assert_non_null(strstr(text, "1,copy,\"say \"\"hi\"\"\\\n\xff\","));
    capture(spill_report_csv_buffers);
    assert_non_null(strstr(text, "1,0x1000,100,4096,iteration,texture,2,1,1,0,,,0,0.000000,"));
}

static void perfetto(void **state)
{
    (void)state;
    capture(spill_report_perfetto);
    assert_non_null(strstr(text, "\"args\": {\"name\": \"stream 7\"}"));
    assert_non_null(strstr(text, "\"tid\": 7, \"ts\": 1.500, \"dur\": 1000000.001"));
    assert_null(strstr(text, "stream 1\""));
}

static void folded(void **state)
{
    (void)state;
    capture(spill_report_folded);
    assert_non_null(strstr(text, "0x2 in prog;"));
    assert_non_null(strstr(text, ";cudaMalloc in libcudart.so.13 5368709120\n"));
    assert_non_null(strstr(text, "(no call site) 7\n"));
    capture(spill_report_folded_idle);
    assert_non_null(strstr(text, ";cudaMalloc in libcudart.so.13 5\n"));
    assert_null(strstr(text, "no call site"));
}

static void memory_viz(void **state)
{
    (void)state;
    capture(spill_report_memory_viz);
    assert_memory_equal(text, "\x80\x02}", 3);
    assert_int_equal(text[text_len - 1], '.');
    /* Each call site's frames stand there once. */
    const char *first = memmem(text, text_len, "cudaMalloc+0x42", 15);
    assert_non_null(first);
    assert_null(memmem(first + 1, text_len - (size_t)(first + 1 - text), "cudaMalloc+0x42", 15));
}

static void frames(void **state)
{
    (void)state;
    const char *site = names + SITE;
    struct spill_siteframe frame;
    assert_true(spill_tracetext_frame(&site, &frame));
    assert_string_equal(frame.name, "cudaMalloc");
    assert_string_equal(frame.module, "libcudart.so.13");
    assert_int_equal(frame.offset, 0x42);
    assert_true(spill_tracetext_frame(&site, &frame));
    assert_string_equal(frame.module, "b"); /* the last " in " */
    assert_true(spill_tracetext_frame(&site, &frame));
    assert_string_equal(frame.name, "0x2");
    assert_int_equal(frame.offset, 0);
    assert_false(spill_tracetext_frame(&site, &frame));
}

static void pickle_numbers(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *bytes;
        size_t len;
    } cases[] = {
        {0, "K\x00", 2},
        {255, "K\xff", 2},
        {256, "M\x00\x01", 3},
        {65536, "J\x00\x00\x01\x00", 5},
        {INT32_MAX, "J\xff\xff\xff\x7f", 5},
        {UINT64_C(0x80000000), "\x8a\x05\x00\x00\x00\x80\x00", 7},
        {UINT64_C(0x7fffffffff), "\x8a\x05\xff\xff\xff\xff\x7f", 7},
        {UINT64_C(0x8000000000), "\x8a\x06\x00\x00\x00\x00\x80\x00", 8},
        {UINT64_MAX, "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00", 11},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char got[16];
        FILE *out = fmemopen(got, sizeof(got), "w");
        spill_pickle_int(out, cases[i].value);
        assert_int_equal(ftell(out), cases[i].len);
        fclose(out);
        assert_memory_equal(got, cases[i].bytes, cases[i].len);
    }
}

static void utf8(void **state)
{
    (void)state;
    assert_int_equal(spill_utf8_length("a", 1), 1);
    assert_int_equal(spill_utf8_length("\xc3\xa9", 2), 2);
    assert_int_equal(spill_utf8_length("\xe2\x82\xac", 3), 3);
    assert_int_equal(spill_utf8_length("\xf0\x9f\x98\x80", 4), 4);
    assert_int_equal(spill_utf8_length("\xc3", 1), 0);             /* cut */
    assert_int_equal(spill_utf8_length("\xc0\x80", 2), 0);         /* overlong */
    assert_int_equal(spill_utf8_length("\xed\xa0\x80", 3), 0);     /* a surrogate */
    assert_int_equal(spill_utf8_length("\xf4\x90\x80\x80", 4), 0); /* beyond the last */
    assert_int_equal(spill_utf8_length("\x80", 1), 0);
    assert_int_equal(spill_utf8_length("\xff\xff\xff\xff", 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives),    cmocka_unit_test(json),   cmocka_unit_test(csv),
        cmocka_unit_test(perfetto), cmocka_unit_test(folded), cmocka_unit_test(memory_viz),
        cmocka_unit_test(frames),   cmocka_unit_test(utf8),   cmocka_unit_test(pickle_numbers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
