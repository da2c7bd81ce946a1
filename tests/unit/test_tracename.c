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
#include "preload/base/outname.h"
#include "preload/base/rank.h"
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

static void clear_ranks(void)
{
    static const char *const names[] = {"RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_WORLD_SIZE",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_STEP_TASKS_PER_NODE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "MPI_LOCALNRANKS"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
}

static void patterns(void **state)
{
    char pattern[SPILL_TRACENAME_MAX], want[SPILL_TRACENAME_MAX];
    (void)state;
    clear_ranks();
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

static void expect_name(const char *pattern, const char *want)
{
    char path[SPILL_TRACENAME_MAX];
    assert_true(spill_outname_expand_ranked(pattern, 42, path, sizeof(path)));
    assert_string_equal(path, want);
}

static void expansion(void **state)
{
    char host[65] = "", want[SPILL_TRACENAME_MAX], small[8];
    (void)state;
    clear_ranks();
    gethostname(host, sizeof(host) - 1);
    expect_name("/t/%p.%p", "/t/42.42");
    expect_name("/t/plain%", "/t/plain%");
    expect_name("/t/%%p%x%q%q{}%q{a", "/t/%p%x%q%q{}%q{a");
    expect_name("/t/%r", "/t/0");
    snprintf(want, sizeof(want), "/t/%s-42", host);
    expect_name("/t/%h-%p", want);
    setenv("SPILL_TEST_NAME", "a/../b", 1);
    unsetenv("SPILL_TEST_NONE");
    expect_name("/t/%q{SPILL_TEST_NAME}.%q{SPILL_TEST_NONE}", "/t/a_.._b.");
    assert_true(spill_outname_expand("/t/%p", 4, small, sizeof(small)));
    assert_true(spill_outname_expand("/t/%p", 1234, small, sizeof(small)));
    assert_false(spill_outname_expand("/t/%p", 12345, small, sizeof(small)));
    assert_false(spill_outname_expand("/t/%q{SPILL_TEST_NAME}", 1, small, sizeof(small)));
}

static void ranks(void **state)
{
    char small[8];
    (void)state;
    clear_ranks();
    assert_null(spill_rank_text());
    assert_int_equal(spill_rank_local(), 1);
    setenv("RANK", "general", 1); /* not a launcher's */
    setenv("WORLD_SIZE", "8", 1);
    expect_name("/t/x.trace", "/t/x.trace");
    setenv("RANK", "3", 1);
    expect_name("/t/x.trace", "/t/x.3.trace");
    expect_name("/t.d/x", "/t.d/x.3");
    expect_name("/t/.x", "/t/.x.3");
    expect_name("/t/%r.x", "/t/3.x");
    expect_name("/t/%p.x", "/t/42.x");
    assert_false(spill_outname_expand_ranked("/t/x.y", 1, small, 8));
    setenv("WORLD_SIZE", "1", 1);
    expect_name("/t/x.trace", "/t/x.trace");
    setenv("LOCAL_WORLD_SIZE", "4", 1);
    assert_int_equal(spill_rank_local(), 4);
    clear_ranks();
    setenv("SLURM_PROCID", "5", 1);
    setenv("SLURM_STEP_TASKS_PER_NODE", "2(x16),3", 1);
    assert_int_equal(spill_rank_local(), 3);
    setenv("SLURM_STEP_TASKS_PER_NODE", "nonsense", 1);
    assert_int_equal(spill_rank_local(), 1);
    setenv("PMI_RANK", "1", 1);
    assert_string_equal(spill_rank_text(), "5");
    setenv("OMPI_COMM_WORLD_RANK", "7", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
    assert_string_equal(spill_rank_text(), "7");
    assert_int_equal(spill_rank_local(), 2);
    clear_ranks();
}

static void expect_found(const char *pattern, pid_t pid, const char *want)
{
    struct timespec long_ago = {0, 0};
    struct spill_tracename_list list;
    char full[SPILL_TRACENAME_MAX], all[1024] = "";
    assert_true(spill_tracename_pattern(pattern, "x", full));
    assert_int_equal(spill_tracename_find(full, pid, &long_ago, &list), *want != '\0');
    for (size_t i = 0; i < list.count; i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s ",
                 strrchr(list.paths[i], '/') + 1);
    assert_string_equal(all, want);
    spill_tracename_free(&list);
}

static void finding(void **state)
{
    static const char *const files[] = {"t.x.trace", "t.6.trace.tmp", "t.06.trace", "t.6.trace",
                                        "t.5.trace", "t.10.trace",    "u.trace",    "u.2.trace"};
    struct timespec in_future = {INT_MAX, 0};
    struct spill_tracename_list list;
    char pattern[SPILL_TRACENAME_MAX];
    (void)state;
    clear_ranks();
    expect_found("t.%p.trace", 5, "");
    for (unsigned i = 0; i < 3; i++)
        touch(files[i]);
    expect_found("t.%p.trace", 5, "");
    for (unsigned i = 3; i < 8; i++)
        touch(files[i]);
    expect_found("t.%p.trace", 5, "t.5.trace t.6.trace t.10.trace ");
    expect_found("t.%r.trace", 5, "t.06.trace t.5.trace t.6.trace t.10.trace ");
    expect_found("t.%q{NOT_SET}.trace", 5, "t.06.trace t.5.trace t.6.trace t.10.trace t.x.trace ");
    expect_found("u.trace", 5, "u.2.trace u.trace ");
    assert_true(spill_tracename_pattern("t.%p.trace", "x", pattern));
    assert_false(spill_tracename_find(pattern, 5, &in_future, &list));
    spill_tracename_free(&list);
    for (unsigned i = 0; i < 8; i++)
        unlink(files[i]);
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
        cmocka_unit_test(patterns), cmocka_unit_test(expansion), cmocka_unit_test(ranks),
        cmocka_unit_test(finding),  cmocka_unit_test(checking),
    };
    return cmocka_run_group_tests_name("tracename", tests, setup, teardown);
}
