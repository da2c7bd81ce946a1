/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/pyframes.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/base/fmt.h"

typedef void (*dump_fn)(int fd, void *thread_state);
typedef void *(*thread_fn)(void);
typedef int (*initialized_fn)(void);

static struct {
    dump_fn dump;
    thread_fn thread;
    initialized_fn initialized;
    const void *object;
    char tried;
} python;

bool spill_pyframes_offered(void)
{
    Dl_info info;
    if (!python.tried) {
        python.tried = 1;
        python.dump = (dump_fn)dlsym(RTLD_DEFAULT, "_Py_DumpTraceback");
        python.thread = (thread_fn)dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
        python.initialized = (initialized_fn)dlsym(RTLD_DEFAULT, "Py_IsInitialized");
        if (python.dump != NULL && dladdr((void *)python.dump, &info) != 0)
            python.object = info.dli_fbase;
    }
    return python.object != NULL && python.thread != NULL && python.initialized != NULL;
}

bool spill_pyframes_inside(const void *address)
{
    Dl_info info;
    return spill_pyframes_offered() && dladdr(address, &info) != 0 &&
           info.dli_fbase == python.object;
}

/* One line, `  File "/a/b.py", line 12 in f`. */
static size_t frame_text(const char *line, char *out, size_t out_len)
{
    static const char file_is[] = "  File \"", line_is[] = "\", line ", in[] = " in ";
    if (strncmp(line, file_is, strlen(file_is)) != 0)
        return 0;
    const char *file = line + strlen(file_is), *end = strstr(file, line_is);
    const char *function = end == NULL ? NULL : strstr(end, in);
    if (function == NULL)
        return 0;
    const char *number = end + strlen(line_is);
    const char *slash = memrchr(file, '/', (size_t)(end - file));
    if (slash != NULL)
        file = slash + 1;
    char name[256], place[16], module[128];
    spill_fmt(name, sizeof(name), "%s", function + strlen(in));
    spill_fmt(place,
              (size_t)(function - number) < sizeof(place) ? (size_t)(function - number) + 1
                                                          : sizeof(place),
              "%s", number);
    spill_fmt(module,
              (size_t)(end - file) < sizeof(module) ? (size_t)(end - file) + 1 : sizeof(module),
              "%s", file);
    size_t n = spill_fmt(out, out_len, "%s:%s in %s", name, place, module);
    for (char *c = out; *c != '\0'; c++)
        if (*c == ';')
            *c = ','; /* a file may be called so; it is what parts frames */
    return n < out_len ? n : 0;
}

/* What the interpreter writes, in TEXT. The file lives for this call only: a program that closes
 * what it does not know would else have us write into a file of its own. */
static bool dump(char *text, size_t text_len)
{
    void *thread = python.initialized() ? python.thread() : NULL;
    if (thread == NULL)
        return false; /* a thread that Python does not know */
    int fd = memfd_create("spillway", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    python.dump(fd, thread);
    ssize_t n = pread(fd, text, text_len - 1, 0);
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

size_t spill_pyframes_text(unsigned limit, char *out, size_t out_len)
{
    static char text[16 << 10];
    size_t n = 0;
    int saved = errno;
    out[0] = '\0';
    if (spill_pyframes_offered() && dump(text, sizeof(text))) {
        char *line = text, *end;
        unsigned frames = 0;
        while (frames < limit && (end = strchr(line, '\n')) != NULL) {
            *end = '\0';
            size_t room = out_len - n, more = 0;
            if (room > 1)
                more = frame_text(line, out + n + (frames > 0), room - (frames > 0));
            if (more > 0 && frames > 0)
                out[n] = ';';
            n += more > 0 ? more + (frames > 0) : 0;
            out[n] = '\0';
            frames += more > 0;
            line = end + 1;
        }
    }
    errno = saved;
    return n;
}
