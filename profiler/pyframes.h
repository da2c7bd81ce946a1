/* SPDX-License-Identifier: Apache-2.0 */
/* The Python frames of the calling thread, where the interpreter offers them for nothing but
 * reading.
 *
 * RATIONALE: the frame objects of CPython's API want the GIL, which frameworks give up around their
 * work, and asking for one may allocate, count references and collect garbage, whose finalizers may
 * free GPU memory: all of it out of the question inside a hook. What the interpreter's own
 * faulthandler calls from signal handlers (_Py_DumpTraceback, 3.4 on) does none of that and needs
 * no GIL, since a thread's frames stand still while it is here. It writes text to a file.
 * Interpreters that do not export it show their native frames only. */
#ifndef SPILL_PYFRAMES_H
#define SPILL_PYFRAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Is there an interpreter in this process that offers its frames? */
bool spill_pyframes_offered(void);
/* Does ADDRESS lie in it? */
bool spill_pyframes_inside(const void *address);
/* Its frames as text, innermost first, "function:LINE in file.py" joined by ";", LIMIT at most.
 * Returns its length; 0: none. Inside the turnstile only; errno is kept. */
size_t spill_pyframes_text(unsigned limit, char *out, size_t out_len);

#endif
