/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 that does nothing: every function of the headers is there, notes its arguments and
 * returns what the test said. Only cuGetProcAddress works. */
#ifndef FAKEDRIVER_H
#define FAKEDRIVER_H

#include <stdint.h>

#define FAKE_WORDS 24

#ifdef __cplusplus
extern "C" {
#endif

struct fake_call {
    int function;              /* of the last call */
    uint64_t word[FAKE_WORDS]; /* its arguments, each in a word */
};

extern struct fake_call fake_last;
extern int fake_result;                     /* what every function returns */
extern void (*fake_hook)(const char *name); /* called by every function, if set */
extern unsigned fake_count[];
extern const char *const fake_name[];
extern const int fake_functions;

/* Every look-up made by cuGetProcAddress(_v2), in order, and in which library its caller lies. */
#define FAKE_REQUESTS 8192
struct fake_request {
    char base[64];
    int version;
    uint64_t flags;
    const void *caller;
};
extern struct fake_request fake_request[FAKE_REQUESTS];
extern int fake_requests;

/* What the driver itself gets for NAME. */
void *fake_own(const char *name);

/* What cuGetProcAddress answers. */
void *fake_lookup(const char *base, int version, int per_thread);

#ifdef __cplusplus
}
#endif
#endif
