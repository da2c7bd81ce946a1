/* SPDX-License-Identifier: Apache-2.0 */
/* The line on a terminal for what takes long, and its silence elsewhere. */
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/spillway/progress.h"

/* Works for MS milliseconds with stderr on FD; what came out of MASTER is in TEXT. */
static void work(int fd, int master, long ms, char *text, size_t text_len)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    spill_progress_begin("working", 5);
    for (int i = 0; i < 3; i++)
        spill_progress_step();
    while (nanosleep(&left, &left) != 0)
        ;
    spill_progress_end();
    ssize_t marked = write(STDERR_FILENO, "|", 1);
    (void)dup2(kept, STDERR_FILENO);
    close(kept);
    assert_int_equal(marked, 1);
    size_t used = 0;
    while (used == 0 || text[used - 1] != '|') {
        ssize_t n = read(master, text + used, text_len - 1 - used);
        assert_true(n > 0);
        used += (size_t)n;
    }
    text[used] = '\0';
}

static void terminal(void **state)
{
    int master, slave;
    char text[256];
    (void)state;
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    work(slave, master, 20, text, sizeof(text));
    assert_string_equal(text, "|");
    work(slave, master, 1500, text, sizeof(text));
    assert_memory_equal(text, "\rspillway: working, 3 of 5, 1 s ", 32);
    assert_string_equal(text + strlen(text) - 5, "\r\033[K|");
    close(master);
    close(slave);
}

static void no_terminal(void **state)
{
    int fd[2];
    char text[256];
    (void)state;
    assert_int_equal(pipe(fd), 0);
    work(fd[1], fd[0], 1200, text, sizeof(text));
    assert_string_equal(text, "|");
    close(fd[0]);
    close(fd[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(terminal), cmocka_unit_test(no_terminal)};
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
