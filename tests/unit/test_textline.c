/* SPDX-License-Identifier: Apache-2.0 */
/* The text report keeps within a terminal of 80 columns and 40 lines, whatever a trace holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/spillway/summary.h"
#include "tools/spillway/textline.h"

static char text[1 << 14];

static FILE *begin(void)
{
    FILE *out = fmemopen(text, sizeof(text), "w");
    assert_non_null(out);
    return out;
}

static void lines_break_at_spaces(void **state)
{
    (void)state;
    FILE *out = begin();
    spill_textline_print(out, "label", "%s", "one");
    spill_textline_print(
        out, "label", "%s",
        "a line of sixty-five columns, which is all there is room for here "
        "and the next, in which 12345 GiB of something stay where they are, 12345 MiB");
    fclose(out);
    assert_string_equal(
        text, "  label        one\n"
              "  label        a line of sixty-five columns, which is all there is room for here\n"
              "               and the next, in which 12345 GiB of something stay where they\n"
              "               are, 12345 MiB\n");
}

static const char *clip(const char *name, size_t columns)
{
    static char out[SPILL_TEXTLINE_BYTES];
    return spill_textline_clip(name, columns, out);
}

static void names_are_clipped(void **state)
{
    (void)state;
    assert_string_equal(clip("", 3), "");
    assert_string_equal(clip("abcdef", 6), "abcdef");
    assert_string_equal(clip("abcdefg", 6), "abc...");
    assert_string_equal(clip("abcd", 3), "...");
    /* Columns, not bytes; whole characters. */
    assert_string_equal(clip("\xc3\xa4\xc3\xb6\xc3\xbc\xe2\x82\xac", 4),
                        "\xc3\xa4\xc3\xb6\xc3\xbc\xe2\x82\xac");
    assert_string_equal(clip("\xc3\xa4\xc3\xb6\xc3\xbc\xe2\x82\xac!", 4), "\xc3\xa4...");
    /* Nothing that a terminal would act on, or that is no text. */
    assert_string_equal(clip("a\x1b[2Jb\nc\x7f", 20), "a?[2Jb?c?");
    assert_string_equal(clip("\xc2\x9b"
                             "2J\xff\xc3",
                             20),
                        "?2J??");
}

enum { OPS = 2, BUFFERS = 2000 };

static unsigned count_lines(void)
{
    unsigned lines = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        size_t columns = 0;
        for (; *line != '\0'; line++)
            columns += ((unsigned char)*line & 0xc0) != 0x80;
        assert_true(columns <= SPILL_TEXTLINE_COLUMNS);
        lines++;
    }
    return lines;
}

/* Everything is said, with the longest names and numbers that a trace may have. */
static void the_longest_report(void **state)
{
    (void)state;
    static char names[4001];
    static struct spill_trace_op ops[OPS];
    static struct spill_trace_buffer buffers[BUFFERS];
    static struct spill_trace_access accesses[OPS * BUFFERS];
    struct spill_trace_difference differences[9];
    struct spill_trace trace = {.ops = ops,
                                .accesses = accesses,
                                .buffers = buffers,
                                .differences = differences,
                                .names = names,
                                .op_count = OPS,
                                .access_count = OPS * BUFFERS,
                                .buffer_count = BUFFERS,
                                .difference_count = 9,
                                .name_bytes = sizeof(names),
                                .out = {9, UINT64_MAX},
                                .in = {9, UINT64_MAX},
                                .iterations = UINT32_MAX,
                                .others = UINT32_MAX,
                                .page_bytes = 1,
                                .gpu_bytes = UINT64_MAX,
                                .peak_bytes = UINT64_MAX,
                                .small_bytes = UINT64_MAX,
                                .step_ns = UINT64_C(1) << 57,
                                .paged_bytes = UINT64_MAX,
                                .log_bytes = UINT64_MAX,
                                .log_max = UINT64_MAX,
                                .hooked_calls = UINT64_MAX,
                                .device_name = 0,
                                .program = 0};
    memset(names, 'x', sizeof(names) - 1);
    for (uint32_t i = 0; i < 9; i++)
        differences[i] = (struct spill_trace_difference){UINT32_MAX, UINT32_MAX, 0, 0};
    for (uint32_t k = 0; k < OPS; k++)
        ops[k] = (struct spill_trace_op){.duration_ns = UINT64_C(1) << 55,
                                         .start_ns = k * (UINT64_C(3) << 55),
                                         .paged_bytes = k,
                                         .access_first = k * BUFFERS,
                                         .access_count = k * BUFFERS};
    for (uint32_t b = 0; b < BUFFERS; b++) {
        accesses[b].buffer = accesses[BUFFERS + b].buffer = b;
        buffers[b] = (struct spill_trace_buffer){.bytes = UINT64_C(1) << 42,
                                                 .life = b % 2,
                                                 .pin = b % SPILL_TRACE_PIN_COUNT,
                                                 .free_op = OPS};
    }
    FILE *out = begin();
    assert_true(spill_summary_print(&trace, out));
    fclose(out);
    for (int i = 0; i < 13; i++) {
        static const char *const said[] = {" watched alike (50.0 %)",
                                           " instead of ",
                                           "GPU time",
                                           "the pager",
                                           "paged",
                                           "profiler",
                                           "hooks",
                                           "buffers",
                                           "pinned",
                                           "largest op",
                                           "links",
                                           "longest idle",
                                           " more, "};
        assert_non_null(strstr(text, said[i]));
    }
    assert_in_range(count_lines(), 30, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_break_at_spaces),
        cmocka_unit_test(names_are_clipped),
        cmocka_unit_test(the_longest_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
