/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/rank.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static const struct launcher {
    const char *rank, *world, *local;
} launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"}, /* torchrun, accelerate, deepspeed */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_TASKS_PER_NODE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}, /* MPICH and its kin */
};

enum { MOST_DIGITS = 9 };

/* A plain number: anything else in a variable of so common a name as RANK is not a launcher's. */
static bool is_number(const char *text)
{
    size_t n = 0;
    while (text[n] >= '0' && text[n] <= '9')
        n++;
    return n > 0 && n <= MOST_DIGITS && text[n] == '\0';
}

static const struct launcher *find(const char **rank)
{
    for (unsigned i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        *rank = secure_getenv(launchers[i].rank);
        if (*rank != NULL && is_number(*rank))
            return &launchers[i];
    }
    *rank = NULL;
    return NULL;
}

/* The largest number in TEXT. Slurm writes a list, "4(x2),3": 4 on each of two machines, 3 on
 * another; which is this one it does not say, and too small a share harms nobody. */
static unsigned largest(const char *text)
{
    unsigned most = 1;
    for (const char *p = text; p != NULL && *p != '\0';) {
        unsigned n = 0;
        bool times = *p == 'x';
        p += times;
        for (; *p >= '0' && *p <= '9'; p++)
            n = n < 1000000 ? n * 10 + (unsigned)(*p - '0') : n;
        if (!times && n > most)
            most = n;
        if (*p != '\0' && *p != 'x')
            p++;
    }
    return most;
}

const char *spill_rank_text(void)
{
    const char *rank;
    (void)find(&rank);
    return rank;
}

unsigned spill_rank_world(void)
{
    const char *rank;
    const struct launcher *launcher = find(&rank);
    return launcher == NULL ? 1 : largest(secure_getenv(launcher->world));
}

unsigned spill_rank_local(void)
{
    const char *rank;
    const struct launcher *launcher = find(&rank);
    return launcher == NULL ? 1 : largest(secure_getenv(launcher->local));
}
