/* SPDX-License-Identifier: Apache-2.0 */
/* The two text forms against problems written out by hand, and what the readers refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "solver/textform.h"

static void read_good(const char *text, struct spill_textform *form)
{
    char complaint[128];
    enum spill_status status =
        spill_textform_read(text, strlen(text), form, complaint, sizeof(complaint));

    if (status != SPILL_OK)
        print_error("%s\n", complaint);
    assert_int_equal(status, SPILL_OK);
    assert_string_equal(complaint, "");
}

static void assert_op(const struct spill_textform *form, uint32_t k, const char *name, uint64_t ns,
                      const char *touches)
{
    const struct spill_op *op = &form->ops[k];
    char seen[64] = "";

    assert_string_equal(form->names + form->op_name[k], name);
    assert_int_equal(op->duration_ns, ns);
    for (uint32_t a = 0; a < op->access_count; a++) {
        const struct spill_access *access = &form->accesses[op->access_first + a];
        size_t used = strlen(seen);

        seen[used] = (char)('0' + access->buffer);
        seen[used + 1] = "?rwu"[access->mode];
        seen[used + 2] = '\0';
    }
    assert_string_equal(seen, touches);
}

static void assert_buffer(const struct spill_textform *form, uint32_t b, uint64_t bytes,
                          uint32_t birth, uint32_t death)
{
    assert_int_equal(form->buffers[b].bytes, bytes);
    assert_int_equal(form->buffers[b].birth_op, birth);
    assert_int_equal(form->buffers[b].death_op, death);
}

static void test_g10(void **state)
{
    struct spill_textform form;

    (void)state;
    read_good("# comment\n\nT 7 1 100\r\n\tT 3 0 20\nT 9 0 50\nL 1.5 2000 3000 800\n"
              "K 0 one 4.0625 in=7,3 out=3\nK 5 two 0 in=3 out=",
              &form);
    assert_int_equal(form.problem.op_count, 2);
    assert_int_equal(form.problem.buffer_count, 3);
    assert_op(&form, 0, "one", 4062, "0r1u");
    assert_op(&form, 1, "two", 0, "1r");
    assert_int_equal(form.buffers[0].life, SPILL_LIFE_PERSISTENT);
    assert_int_equal(form.buffers[1].life, SPILL_LIFE_ITERATION);
    assert_buffer(&form, 1, 20, 0, 1);
    assert_buffer(&form, 2, 0, 0, 0); /* of one iteration and used by none: not there */
    assert_int_equal(form.problem.out.latency_ns, 1500);
    assert_int_equal(form.problem.out.bytes_per_s, 2000);
    assert_int_equal(form.problem.in.bytes_per_s, 3000);
    assert_int_equal(form.problem.duplex_permille, 800);
    spill_textform_free(&form);
}

/* Two stages: ops F1 F2 B2 B1. Buffers in order of their first use: 0 input, 1 a_1, 2 the rest that
 * F1 saves, 3 its temporary, 4 a_2, 5 gradient of a_2, 6 of a_1, 7 B2's temporary, 8 of a_0. */
static void test_chain(void **state)
{
    struct spill_textform form;

    (void)state;
    read_good("I 10\nS one 1 2 20 50 7 0\nS two 3 4.5 40 40 0 9\n", &form);
    assert_int_equal(form.problem.op_count, 4);
    assert_int_equal(form.problem.buffer_count, 9);
    assert_op(&form, 0, "one_forward", 1000, "0r1w2w3u");
    assert_op(&form, 1, "two_forward", 3000, "1r4w");
    assert_op(&form, 2, "two_backward", 4500, "1r4r5u6w7u");
    assert_op(&form, 3, "one_backward", 2000, "0r1r2r6r8w");
    assert_buffer(&form, 0, 10, 0, 3);
    assert_buffer(&form, 1, 20, 0, 3);
    assert_buffer(&form, 2, 30, 0, 3);
    assert_buffer(&form, 3, 7, 0, 0);
    assert_buffer(&form, 4, 40, 1, 2);
    assert_buffer(&form, 5, 40, 2, 2);
    assert_buffer(&form, 6, 20, 2, 3);
    assert_buffer(&form, 7, 9, 2, 2);
    assert_buffer(&form, 8, 10, 3, 3);
    spill_textform_free(&form);
    read_good("I 0\nS empty 0 0 0 0 0 0\n", &form);
    assert_int_equal(form.problem.op_count, 2);
    assert_int_equal(form.problem.buffer_count, 0);
    spill_textform_free(&form);
}

static void test_is(void **state)
{
    (void)state;
    assert_true(spill_textform_is("T 0 1 2\n", 8));
    assert_true(spill_textform_is("# c\n  S", 7));
    assert_true(spill_textform_is("L 1 1 1 1\nI 5", 13));
    assert_false(spill_textform_is("", 0));
    assert_false(spill_textform_is("# c\n", 4));
    assert_false(spill_textform_is("Trace", 5));
    assert_false(spill_textform_is("Q 1", 3));
    assert_false(spill_textform_is("\0T 0", 4));
}

/* Every prefix of a good text is read or refused with a reason, never more than its length. */
static void test_cut_short(void **state)
{
    static const char text[] = "I 10\nL 1 1 1 1\nS one 1 2 20 50 7 0\nS two 3 4.5 40 40 0 9\n";
    static const char kernels[] = "T 1 1 5\nT 2 0 6\nK 0 a 1 in=1,2 out=2\nK 1 b 1 in=2 out=1\n";

    (void)state;
    for (int which = 0; which < 2; which++) {
        const char *whole = which == 0 ? text : kernels;

        for (size_t length = 0; length <= strlen(whole); length++) {
            char copy[80], complaint[96] = "";
            struct spill_textform form;
            enum spill_status status;

            memset(copy, '1', sizeof(copy)); /* what must not be read */
            memcpy(copy, whole, length);
            status = spill_textform_read(copy, length, &form, complaint, sizeof(complaint));
            assert_true((status == SPILL_OK) == (complaint[0] == '\0'));
            if (status == SPILL_OK)
                spill_textform_free(&form);
            else
                assert_int_equal(status, SPILL_ERR_FORMAT);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_g10),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_is),
        cmocka_unit_test(test_cut_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
