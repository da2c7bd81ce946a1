/* SPDX-License-Identifier: Apache-2.0 */
/* HAMi#2265: RTLD_DEEPBIND makes a library find its own dependencies before every preload. */
#include "tests/hooks/life/life.h"

int main(void)
{
    void *deep = dlopen("libdeep.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    CHECK(deep != NULL);
    CHECK(((int (*)(void))dlsym(deep, "deep_linked"))() == 0 && life_counts()->before == 1);
    CHECK(((int (*)(void))dlsym(deep, "deep_looked_up"))() == 0 && life_counts()->before == 2);
    return 0;
}
