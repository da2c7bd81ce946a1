/* SPDX-License-Identifier: Apache-2.0 */
/* Lines to stderr, prefixed "spillway: ". One write(2) a line from a stack buffer: no malloc, no
 * lock, no stdio, so a line may come from inside any hook. errno is kept. */
#ifndef SPILL_LOG_H
#define SPILL_LOG_H

#include <stdbool.h>

enum spill_log_level { SPILL_LOG_ERROR, SPILL_LOG_WARN, SPILL_LOG_INFO, SPILL_LOG_DEBUG };

void spill_log_set_level(enum spill_log_level most);
bool spill_log_enabled(enum spill_log_level level);
void spill_log(enum spill_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, but only the first time this line of the source is reached. */
#define spill_log_once(level, ...)                                                                 \
    do {                                                                                           \
        static char said_;                                                                         \
        if (!__atomic_test_and_set(&said_, __ATOMIC_RELAXED))                                      \
            spill_log(level, __VA_ARGS__);                                                         \
    } while (0)

#endif
