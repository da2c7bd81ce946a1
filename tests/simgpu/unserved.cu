// SPDX-License-Identifier: Apache-2.0
// Calls a driver function that the simulator does not serve, twice.
#include <cuda.h>
#include <cstdio>

int main()
{
    for (int i = 0; i < 2; i++) {
        printf("%d\n", (int)cuTexObjectDestroy(0));
        fflush(stdout);
    }
}
