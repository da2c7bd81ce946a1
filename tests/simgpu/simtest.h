// SPDX-License-Identifier: Apache-2.0
// A conformance program is a list of cases, each run in a child of its own, so that a sticky error
// or a crash ends one case only. The parent never touches CUDA. One line a case: "ok NAME", "not ok
// NAME - why", "skip NAME - why". Compiles with simcc and with nvcc; expected values come from the
// CUDA documentation.
#ifndef SIMTEST_H
#define SIMTEST_H

#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

struct Case {
    const char *name;
    void (*body)();
    Case *next;
    Case(const char *n, void (*b)());
};

static Case *first_case, **last_case = &first_case;
static int failed_checks;
static char first_failure[300];

inline Case::Case(const char *n, void (*b)()) : name(n), body(b), next(nullptr)
{
    *last_case = this;
    last_case = &next;
}

static void fail(const char *file, int line, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (failed_checks++ == 0)
        snprintf(first_failure, sizeof first_failure, "%s:%d: %s", file, line, text);
}

static void skip(const char *why)
{
    snprintf(first_failure, sizeof first_failure, "%s", why);
    failed_checks = -1;
}

#define CASE(name)                                                                                 \
    static void name();                                                                            \
    static Case case_##name(#name, name);                                                          \
    static void name()

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail(__FILE__, __LINE__, "%s", #condition);                                            \
    } while (0)

// The call gives exactly this result, of either API.
#define GIVES(call, want)                                                                          \
    do {                                                                                           \
        int got_ = (int)(call);                                                                    \
        if (got_ != (int)(want))                                                                   \
            fail(__FILE__, __LINE__, "%s gives %d, not %s", #call, got_, #want);                   \
    } while (0)

#define EQUAL(a, b)                                                                                \
    do {                                                                                           \
        double a_ = (double)(a), b_ = (double)(b);                                                 \
        if (!(a_ == b_))                                                                           \
            fail(__FILE__, __LINE__, "%s is %.10g, %s is %.10g", #a, a_, #b, b_);                  \
    } while (0)

#define OK(call) GIVES(call, 0)

static CUdevice device0;
static CUcontext context0;

// For cases at driver level: the primary context, current.
static void driver_up()
{
    OK(cuInit(0));
    OK(cuDeviceGet(&device0, 0));
    OK(cuDevicePrimaryCtxRetain(&context0, device0));
    OK(cuCtxSetCurrent(context0));
}

static int run_case(Case *c, const char *prefix)
{
    int pipe_ends[2];
    fflush(stdout);
    if (pipe(pipe_ends) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        close(pipe_ends[0]);
        alarm(60);
        c->body();
        int size = (int)strlen(first_failure);
        if (write(pipe_ends[1], first_failure, size) != size)
            _exit(3);
        fflush(stdout);
        _exit(failed_checks == 0 ? 0 : failed_checks < 0 ? 77 : 1);
    }
    close(pipe_ends[1]);
    char why[300] = "";
    for (ssize_t n, at = 0; (n = read(pipe_ends[0], why + at, sizeof why - 1 - at)) > 0; at += n)
        why[at + n] = 0;
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        printf("ok %s/%s\n", prefix, c->name);
        return 0;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        printf("skip %s/%s - %s\n", prefix, c->name, why);
        return 0;
    }
    if (WIFSIGNALED(status))
        printf("not ok %s/%s - signal %d\n", prefix, c->name, WTERMSIG(status));
    else
        printf("not ok %s/%s - %s\n", prefix, c->name, why);
    return 1;
}

int main(int argc, char **argv)
{
    int failures = 0;
    const char *prefix = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    for (Case *c = first_case; c != nullptr; c = c->next)
        if (argc < 2 || strcmp(argv[1], c->name) == 0)
            failures += run_case(c, prefix);
    return failures != 0;
}

#endif
