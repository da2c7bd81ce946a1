/* SPDX-License-Identifier: Apache-2.0 */
/* HAMi#2903: a threading library that probes symbols through a hooked dlsym spins. Here: unknown
 * names get libc's own answer, and its dlerror. */
#include "tests/hooks/life/life.h"

int main(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    CHECK(dlsym(libc, "malloc") != NULL && dlerror() == NULL);
    CHECK(dlsym(RTLD_DEFAULT, "no_such_function") == NULL);
    const char *why = dlerror();
    CHECK(why != NULL && strstr(why, "no_such_function") != NULL && dlerror() == NULL);
    CHECK(dlvsym(libc, "malloc", "GLIBC_2.2.5") != NULL);
    CHECK(dlvsym(libc, "malloc", "GLIBC_99") == NULL && dlerror() != NULL);
    CHECK(dlopen("no-such-file.so", RTLD_NOW) == NULL);
    why = dlerror();
    CHECK(why != NULL && strstr(why, "no-such-file.so") != NULL);
    return 0;
}
