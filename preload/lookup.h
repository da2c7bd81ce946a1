/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups of driver functions by name: dlsym and cuGetProcAddress. */
#ifndef SPILL_LOOKUP_H
#define SPILL_LOOKUP_H

/* libc's dlsym, not ours. */
void *spill_lookup_real_dlsym(void *handle, const char *name);

/* Called by the dlsym trampoline with the caller's return address. Our wrapper when HANDLE would
 * give the driver's own function of exactly that name; NULL: the trampoline jumps to the real
 * dlsym. */
void *spill_lookup_dlsym(void *handle, const char *name, void *caller);

#endif
