/* SPDX-License-Identifier: Apache-2.0 */
/* HAMi-core PR#215: a hook that takes everything that begins with "cu" answers cudnnCreate with
 * itself. Here: cu* names that are not the driver's are found where they are. */
#include "tests/hooks/life/life.h"

int cudnnCreate(void);
int cudnnCreate(void)
{
    return 42;
}

int main(void)
{
    void *self = dlopen(NULL, RTLD_NOW);
    int (*found)(void) = (int (*)(void))dlsym(self, "cudnnCreate");
    CHECK(found == cudnnCreate && found() == 42);
    CHECK((int (*)(void))dlsym(RTLD_DEFAULT, "cudnnCreate") == cudnnCreate);
    CHECK(dlsym(self, "cublasCreate_v2") == NULL && dlerror() != NULL);
    CHECK(dlsym(life_driver(), "curandGenerate") == NULL && dlerror() != NULL);
    return 0;
}
