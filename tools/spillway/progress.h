/* SPDX-License-Identifier: Apache-2.0 */
/* A line on the terminal for what takes over a second; nothing where stderr is no terminal. */
#ifndef SPILL_PROGRESS_H
#define SPILL_PROGRESS_H

/* From now on until spill_progress_end, once a second: "spillway: WHAT, 3 of 20, 5 s". OF 0: steps
 * are not counted. WHAT must live as long. Uses SIGALRM; one at a time. */
void spill_progress_begin(const char *what, unsigned of);
/* One more is done. */
void spill_progress_step(void);
/* Ends it and takes the line away. */
void spill_progress_end(void);

#endif
