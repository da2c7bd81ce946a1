/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several alike processes this one is, by what torchrun, Open MPI, Slurm and MPICH put
 * into the environment. */
#ifndef SPILL_RANK_H
#define SPILL_RANK_H

/* The rank as the launcher wrote it ("3"); NULL when this is no process of several. */
const char *spill_rank_text(void);

/* Processes of the job, and those of them on this machine; 1 when nothing is known. */
unsigned spill_rank_world(void);
unsigned spill_rank_local(void);

#endif
