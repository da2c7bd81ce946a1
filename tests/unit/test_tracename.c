/* SPDX-License-Identifier: Apache-2.0 */
/* Trace names: the default, %p, and finding what a script's child wrote. */
#include <limits.h>
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

#include "preload/base/log.h"
#include "tools/spillway/tracename.h"

static char folder[64];

static int setup(void **state)
{
    (void)state;
    spill_log_set_level(SPILL_LOG_ERROR);
    snprintf(folder, sizeof(folder), "/tmp/spill-test-XXXXXX");
    return mkdtemp(folder) != NULL && chdir(folder) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void touch(const char *name)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fclose(file);
}

static void patterns(void **state)
{
    char pattern[SPILL_TRACENAME_MAX], want[SPILL_TRACENAME_MAX];
    (void)state;
    assert_true(spill_tracename_pattern(NULL, "./bin/train", pattern));
    snprintf(want, sizeof(want), "%s/spillway.train.%%p.trace", folder);
    assert_string_equal(pattern, want);
    assert_true(spill_tracename_pattern("a/%p", "x", pattern));
    snprintf(want, sizeof(want), "%s/a/%%p", folder);
    assert_string_equal(pattern, want);
    assert_true(spill_tracename_pattern("/b", "x", pattern));
    assert_string_equal(pattern, "/b");
    char endless[PATH_MAX + 2];
    memset(endless, 'x', sizeof(endless) - 1);
    endless[0] = '/';
    endless[sizeof(endless) - 1] = '\0';
    assert_false(spill_tracename_pattern(endless, "x", pattern));
}

static void expansion(void **state)
{
    char path[SPILL_TRACENAME_MAX];
    (void)state;
    spill_tracename_expand("/t/%p.%p", 42, path);
    assert_string_equal(path, "/t/42.42");
    spill_tracename_expand("/t/plain%", 42, path);
    assert_string_equal(path, "/t/plain%");
    char many[PATH_MAX];
    for (size_t i = 0; i < sizeof(many) - 1; i++)
        many[i] = i % 2 == 0 ? '%' : 'p';
    many[sizeof(many) - 1] = '\0';
    spill_tracename_expand(many, 4194304, path);
    assert_in_range(strlen(path), 1, sizeof(path) - 1);
}

static void finding(void **state)
{
    struct timespec long_ago = {0, 0}, in_future = {INT_MAX, 0};
    char pattern[SPILL_TRACENAME_MAX], path[SPILL_TRACENAME_MAX];
    (void)state;
    assert_true(spill_tracename_pattern("t.%p.trace", "x", pattern));
    assert_false(spill_tracename_find(pattern, 5, &long_ago, path));
    touch("t.x.trace");
    touch("t.6.trace.tmp");
    touch("t.06.trace");
    assert_false(spill_tracename_find(pattern, 5, &long_ago, path));
    touch("t.6.trace");
    assert_true(spill_tracename_find(pattern, 5, &long_ago, path));
    assert_string_equal(strrchr(path, '/'), "/t.6.trace");
    touch("t.5.trace");
    assert_true(spill_tracename_find(pattern, 5, &long_ago, path));
    assert_string_equal(strrchr(path, '/'), "/t.5.trace");
    assert_false(spill_tracename_find(pattern, 5, &in_future, path));
    unlink("t.x.trace"), unlink("t.6.trace.tmp"), unlink("t.06.trace");
    unlink("t.6.trace"), unlink("t.5.trace");
}

static void checking(void **state)
{
    char pattern[SPILL_TRACENAME_MAX];
    (void)state;
    assert_true(spill_tracename_pattern("mine", "x", pattern));
    assert_true(spill_tracename_check(pattern, false));
    touch("mine");
    assert_false(spill_tracename_check(pattern, false));
    assert_true(spill_tracename_check(pattern, true));
    unlink("mine");
    assert_int_equal(mkdir("mine", 0700), 0);
    assert_false(spill_tracename_check(pattern, true));
    rmdir("mine");
    assert_true(spill_tracename_pattern("gone/x", "x", pattern));
    assert_false(spill_tracename_check(pattern, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),
        cmocka_unit_test(expansion),
        cmocka_unit_test(finding),
        cmocka_unit_test(checking),
    };
    return cmocka_run_group_tests_name("tracename", tests, setup, teardown);
}
