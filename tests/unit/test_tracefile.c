/* SPDX-License-Identifier: Apache-2.0 */
/* The trace file: what was written is read; no single damaged byte, and no cut, gets past the
 * reader unnoticed or makes it crash. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/tracefile.h"

static struct spill_trace_op ops[] = {
    {.duration_ns = 7, .name = 1, .access_count = 2, .grid = {1, 2, 3}, .block = {4, 5, 6}},
    {.duration_ns = 9,
     .name = SPILL_TRACE_NONE,
     .access_first = 2,
     .access_count = 1,
     .stream = 1,
     .start_ns = 8,
     .paged_bytes = 11},
};
static struct spill_trace_access accesses[] = {{0, 1}, {1, 2}, {1, 3}};
static struct spill_trace_buffer buffers[] = {
    {.address = 0x7f0000000000, .bytes = 1 << 21, .site = SPILL_TRACE_NONE},
    {.bytes = 3, .life = SPILL_TRACE_ITERATION, .birth_op = 0, .free_op = 2, .site = 8, .pin = 2},
};
static struct spill_trace_difference differences[] = {{.iteration = 4, .op = 1, .expected = 1}};
static char names[] = "\0kernel\0a.c:1\0prog\0dev";
static const struct spill_trace sample = {
    .ops = ops,
    .accesses = accesses,
    .buffers = buffers,
    .differences = differences,
    .difference_count = 1,
    .others = 6,
    .log_bytes = 1000,
    .log_max = 2000,
    .hooked_calls = UINT64_C(5) << 32,
    .names = names,
    .op_count = 2,
    .access_count = 3,
    .buffer_count = 2,
    .name_bytes = sizeof(names),
    .out = {100, 200},
    .in = {300, 400},
    .duplex_permille = 900,
    .iterations = 3,
    .page_bytes = 1 << 21,
    .gpu_bytes = 1 << 30,
    .gpu_budget = 1 << 29,
    .peak_bytes = 12345,
    .small_bytes = 77,
    .step_ns = 16,
    .paged_bytes = 5,
    .program = 14,
    .device_name = 19,
};

static char path[64];

static int setup(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/spill-test-%d.trace", (int)getpid());
    return spill_tracefile_write(path, &sample) == SPILL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static void written_is_read(void **state)
{
    struct spill_trace *t;
    struct stat st;
    (void)state;
    assert_int_equal(spill_tracefile_read(path, &t, NULL, 0), SPILL_OK);
    assert_int_equal(t->op_count, 2);
    assert_memory_equal(t->ops, ops, sizeof(ops));
    assert_int_equal(t->access_count, 3);
    assert_memory_equal(t->accesses, accesses, sizeof(accesses));
    assert_int_equal(t->buffer_count, 2);
    assert_memory_equal(t->buffers, buffers, sizeof(buffers));
    assert_int_equal(t->name_bytes, sizeof(names));
    assert_memory_equal(t->names, names, sizeof(names));
    assert_string_equal(t->names + t->program, "prog");
    assert_string_equal(t->names + t->device_name, "dev");
    assert_int_equal(t->out.latency_ns, 100);
    assert_int_equal(t->out.bytes_per_s, 200);
    assert_int_equal(t->in.latency_ns, 300);
    assert_int_equal(t->in.bytes_per_s, 400);
    assert_int_equal(t->duplex_permille, 900);
    assert_int_equal(t->iterations, 3);
    assert_int_equal(t->page_bytes, 1 << 21);
    assert_int_equal(t->gpu_bytes, 1 << 30);
    assert_int_equal(t->gpu_budget, 1 << 29);
    assert_int_equal(t->peak_bytes, 12345);
    assert_int_equal(t->small_bytes, 77);
    assert_int_equal(t->step_ns, 16);
    assert_int_equal(t->paged_bytes, 5);
    assert_int_equal(t->others, 6);
    assert_int_equal(t->log_bytes, 1000);
    assert_int_equal(t->log_max, 2000);
    assert_int_equal(t->hooked_calls, UINT64_C(5) << 32);
    assert_int_equal(t->difference_count, 1);
    assert_memory_equal(t->differences, differences, sizeof(differences));
    spill_tracefile_free(t);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static size_t slurp(unsigned char *data, size_t room)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(data, 1, room, file);
    fclose(file);
    return n;
}

static void spit(const unsigned char *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void damage_is_noticed(void **state)
{
    unsigned char data[4096];
    size_t bytes = slurp(data, sizeof(data)), accepted = 0;
    (void)state;
    assert_in_range(bytes, 100, sizeof(data) - 1);
    for (size_t i = 0; i < bytes; i++) {
        struct spill_trace *t = NULL;
        char complaint[128] = "";
        data[i] ^= 0x41;
        spit(data, bytes);
        if (spill_tracefile_read(path, &t, complaint, sizeof(complaint)) == SPILL_OK) {
            accepted++; /* padding, the end record, an unknown field: what was read must be whole */
            assert_int_equal(t->op_count, 2);
            assert_memory_equal(t->ops, ops, sizeof(ops));
            assert_memory_equal(t->buffers, buffers, sizeof(buffers));
            spill_tracefile_free(t);
        } else {
            assert_string_not_equal(complaint, "");
        }
        data[i] ^= 0x41;
    }
    /* Only the end record (24 bytes), the type of the one record that may be missing and paddings
     * (below 8 each, six records) may go unread. */
    assert_in_range(accepted, 0, 24 + 4 + 6 * 7);
    spit(data, bytes);
}

static void cuts_are_noticed(void **state)
{
    unsigned char data[4096];
    size_t bytes = slurp(data, sizeof(data));
    (void)state;
    for (size_t n = 0; n < bytes; n++) {
        struct spill_trace *t = NULL;
        spit(data, n);
        enum spill_status status = spill_tracefile_read(path, &t, NULL, 0);
        /* Without the end record, and the differences, all tables are there. */
        if (status == SPILL_OK) {
            assert_true(n + 24 + 24 + sizeof(differences) + 8 > bytes);
            assert_memory_equal(t->buffers, buffers, sizeof(buffers));
            spill_tracefile_free(t);
        } else {
            assert_int_equal(status, SPILL_ERR_FORMAT);
        }
    }
    spit(data, bytes);
}

/* Indices are checked against every table, also in a file whose checksums are right. */
static void refuses(struct spill_trace t)
{
    struct spill_trace *read = NULL;
    assert_int_equal(spill_tracefile_write(path, &t), SPILL_OK);
    assert_int_equal(spill_tracefile_read(path, &read, NULL, 0), SPILL_ERR_FORMAT);
}

static void wild_indices_are_refused(void **state)
{
    struct spill_trace t;
    struct spill_trace_op op[2];
    struct spill_trace_access access[3];
    struct spill_trace_buffer buffer[2];
    struct spill_trace_difference other[1];
    (void)state;
#define WILD(table, original, statement)                                                           \
    do {                                                                                           \
        memcpy(table, original, sizeof(original));                                                 \
        t = sample;                                                                                \
        statement;                                                                                 \
        refuses(t);                                                                                \
    } while (0)
    WILD(op, ops, (t.ops = op, op[1].access_first = 4));
    WILD(op, ops, (t.ops = op, op[1].access_count = 2));
    WILD(op, ops, (t.ops = op, op[1].access_first = UINT32_MAX));
    WILD(op, ops, (t.ops = op, op[0].name = sizeof(names)));
    WILD(access, accesses, (t.accesses = access, access[2].buffer = 2));
    WILD(buffer, buffers, (t.buffers = buffer, buffer[1].life = 2));
    WILD(buffer, buffers, (t.buffers = buffer, buffer[1].pin = SPILL_TRACE_PIN_COUNT));
    WILD(buffer, buffers, (t.buffers = buffer, buffer[1].birth_op = 3));
    WILD(buffer, buffers, (t.buffers = buffer, buffer[1].free_op = 3));
    WILD(buffer, buffers, (t.buffers = buffer, buffer[1].site = 1000));
    WILD(other, differences, (t.differences = other, other[0].op = 3));
    WILD(other, differences, (t.differences = other, other[0].found = 1000));
    WILD(buffer, buffers, (t.buffers = buffer, buffer[1].bytes = (uint64_t)1 << 60));
    WILD(op, ops, (t.ops = op, op[0].duration_ns = (uint64_t)1 << 60));
    WILD(op, ops, (t.ops = op, op[1].start_ns = UINT64_MAX));
    WILD(op, ops, t.program = sizeof(names));
    WILD(op, ops, t.page_bytes = 0);
    WILD(op, ops, t.name_bytes = sizeof(names) - 1);
#undef WILD
    assert_int_equal(spill_tracefile_write(path, &sample), SPILL_OK);
}

static void unwritable_places(void **state)
{
    (void)state;
    errno = 0;
    assert_int_equal(spill_tracefile_write("/nonexistent/x", &sample), SPILL_ERR_IO);
    assert_int_equal(errno, ENOENT);
    /* A symbolic link in the way is not followed: /tmp is everyone's. */
    char temporary[80];
    snprintf(temporary, sizeof(temporary), "%s.tmp", path);
    assert_int_equal(symlink("/tmp/spill-test-target", temporary), 0);
    assert_int_equal(spill_tracefile_write(path, &sample), SPILL_ERR_IO);
    assert_int_equal(access("/tmp/spill-test-target", F_OK), -1);
    assert_int_equal(unlink(temporary), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_is_read),   cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(cuts_are_noticed),  cmocka_unit_test(wild_indices_are_refused),
        cmocka_unit_test(unwritable_places),
    };
    return cmocka_run_group_tests_name("tracefile", tests, setup, teardown);
}
