/* SPDX-License-Identifier: Apache-2.0 */
/* SUSE/libpulp#133: an interposed dlsym breaks RTLD_NEXT, which is relative to who asks. Here: an
 * allocator in the program, which calls dlsym inside its first malloc, finds the next one. */
#include "tests/hooks/life/life.h"

static void *(*next_malloc)(size_t);
static int entered, allocations;

void *malloc(size_t bytes)
{
    static char early[4096];
    static size_t used;
    if (next_malloc == NULL) {
        if (entered) { /* dlsym itself allocates: a hook must not make it do so */
            void *p = early + used;
            used += (bytes + 15) & ~(size_t)15;
            return p;
        }
        entered = 1;
        next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    }
    allocations++;
    return next_malloc(bytes);
}

int main(void)
{
    char *p = malloc(100);
    CHECK(p != NULL && next_malloc != malloc && allocations > 0);
    CHECK(life_in((void *)next_malloc, "libc.so"));
    memset(p, 1, 100);
    CHECK(dlsym(RTLD_NEXT, "main") == NULL);
    return 0;
}
