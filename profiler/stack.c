/* SPDX-License-Identifier: Apache-2.0 */
/* Walked only while recording, never on the planned path. libunwind keeps its own caches in mmap'ed
 * memory; names are looked up later, when a trace is written. */
#include "profiler/stack.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/base/fmt.h"
#include "preload/base/log.h"
#include "preload/base/pinrules.h"
#include "preload/base/tsanhost.h"
#include "preload/base/uthash_heap.h"
#include "profiler/mix.h"
#include "profiler/pyframes.h"

#define OWN_FRAMES    12 /* at most this many of ours are on top */
#define NATIVE_FRAMES 6  /* where Python's are to follow */
#define PYTHON_TEXT   2048
#define SITE_MAX      ((uint32_t)1 << 16) /* a program that has more has none worth telling */

struct site {
    uint64_t hash;
    uint32_t number;
    uint32_t count;
    bool held;    /* a rule of SPILLWAY_PIN names one of its functions or libraries */
    char *python; /* text of the Python frames that called them; NULL: none */
    void *frames[SPILL_STACK_FRAMES];
    UT_hash_handle hh;
};

typedef int (*backtrace_fn)(void **, int);

static struct site *sites;      /* by hash */
static struct site **by_number; /* number - 1 -> site */
static size_t by_number_cap;
static uint32_t site_count;
static bool python_wanted;

/* libunwind keeps a cache for each thread, and takes a lock when the thread ends: after
 * ThreadSanitizer has forgotten it, and crashes. */
static backtrace_fn find_backtrace(void)
{
    static backtrace_fn found;
    static char tried;
    if (!tried) {
        tried = 1;
        void *unwind = spill_tsanhost() ? NULL : dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
        found = unwind == NULL ? NULL : (backtrace_fn)dlsym(unwind, "unw_backtrace");
        if (found == NULL)
            spill_log(SPILL_LOG_DEBUG,
                      spill_tsanhost()
                          ? "built with ThreadSanitizer: call sites by frame pointers only"
                          : "no libunwind.so.8: call sites by frame pointers only");
    }
    return found;
}

static const void *object_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) == 0 ? NULL : info.dli_fbase;
}

/* Without libunwind: the chain of frame pointers, as far as the program and its libraries keep
 * them. It is read through the kernel, since a register that holds something else may point
 * anywhere. */
static int walk_frame_pointers(void **frames, int most)
{
    const struct frame {
        const struct frame *next;
        void *return_address;
    } *at = __builtin_frame_address(0);
    struct frame frame;
    int count = 0;
    while (count < most) {
        struct iovec to = {&frame, sizeof(frame)}, from = {(void *)(uintptr_t)at, sizeof(frame)};
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof(frame) ||
            object_of(frame.return_address) == NULL)
            break;
        frames[count++] = frame.return_address;
        if (frame.next <= at || (uintptr_t)frame.next % sizeof(void *) != 0)
            break; /* stacks grow down: the caller's frame lies above */
        at = frame.next;
    }
    return count;
}

/* dladdr, for the function that a return address lies in: that may be the first byte of the next
 * function, so look one byte back. */
static bool find_frame(const char *address, Dl_info *info)
{
    return dladdr(address - 1, info) != 0 && info->dli_fname != NULL;
}

static const char *module_of(const Dl_info *info)
{
    const char *slash = strrchr(info->dli_fname, '/');
    return slash == NULL ? info->dli_fname : slash + 1;
}

static bool named_in_rules(void *const *frames, uint32_t count)
{
    Dl_info info;
    for (uint32_t i = 0; i < count; i++)
        if (find_frame(frames[i], &info) &&
            (spill_pinrules_site(module_of(&info)) ||
             (info.dli_sname != NULL && spill_pinrules_site(info.dli_sname))))
            return true;
    return false;
}

static struct site *add_site(uint64_t hash, void *const *frames, uint32_t count, const char *python)
{
    if (site_count == SITE_MAX)
        return NULL;
    struct site *site = spill_heap_alloc(sizeof(*site));
    if (site == NULL || SPILL_HEAP_GROW(by_number, by_number_cap, (size_t)site_count + 1) != 0)
        return NULL;
    site->hash = hash;
    site->count = count;
    memcpy(site->frames, frames, count * sizeof(*frames));
    if (*python != '\0' && (site->python = spill_heap_alloc(strlen(python) + 1)) != NULL)
        strcpy(site->python, python);
    site->held = spill_pinrules_by_site() && named_in_rules(frames, count);
    HASH_ADD(hh, sites, hash, sizeof(site->hash), site);
    by_number[site_count] = site;
    site->number = ++site_count;
    return site;
}

void spill_stack_python(bool wanted)
{
    python_wanted = wanted;
}

/* Where the interpreter was called from is told by its own frames, as many as there is room for; of
 * the COUNT native ones those stay that it called. */
static int call_python(void *const *frames, int count, char *python, size_t python_len)
{
    int native = 0;
    while (native < count && !spill_pyframes_inside(frames[native]))
        native++;
    if (native == count && count == SPILL_STACK_FRAMES)
        native = NATIVE_FRAMES; /* it lies deeper than we look */
    return spill_pyframes_text((unsigned)(SPILL_STACK_FRAMES - native), python, python_len) == 0
               ? count
               : native;
}

uint32_t spill_stack_here(void)
{
    void *frames[SPILL_STACK_FRAMES + OWN_FRAMES];
    static const void *own;
    static char python[PYTHON_TEXT];
    backtrace_fn walk = find_backtrace();
    struct site *site = NULL;
    if (own == NULL)
        own = object_of((const void *)spill_stack_here);
    int total = walk != NULL ? walk(frames, SPILL_STACK_FRAMES + OWN_FRAMES)
                             : walk_frame_pointers(frames, SPILL_STACK_FRAMES + OWN_FRAMES);
    int first = 0;
    while (first < total && object_of(frames[first]) == own)
        first++;
    int count = total - first < SPILL_STACK_FRAMES ? total - first : SPILL_STACK_FRAMES;
    if (count <= 0)
        return SPILL_NO_SITE;
    uint64_t hash = 0;
    python[0] = '\0';
    if (python_wanted && spill_pyframes_offered())
        count = call_python(frames + first, count, python, sizeof(python));
    for (int i = 0; i < count; i++)
        hash = spill_mix(hash, (uintptr_t)frames[first + i]);
    for (const char *c = python; *c != '\0'; c++)
        hash = spill_mix(hash, (unsigned char)*c);
    HASH_FIND(hh, sites, &hash, sizeof(hash), site);
    if (site == NULL)
        site = add_site(hash, frames + first, (uint32_t)count, python);
    return site == NULL ? SPILL_NO_SITE : site->number;
}

bool spill_stack_held(void)
{
    if (!spill_pinrules_by_site())
        return false;
    /* Frame pointers may leave out just the frame that a rule means. */
    uint32_t site = find_backtrace() == NULL ? SPILL_NO_SITE : spill_stack_here();
    if (site != SPILL_NO_SITE)
        return by_number[site - 1]->held;
    spill_log_once(
        SPILL_LOG_WARN,
        "call stacks cannot be walked (no libunwind.so.8, or ThreadSanitizer): because of the "
        "site rules in SPILLWAY_PIN such allocations are left to the driver");
    return true;
}

static size_t frame_text(const char *address, char *out, size_t out_len)
{
    Dl_info info;
    if (!find_frame(address, &info))
        return spill_fmt(out, out_len, "0x%llx", (unsigned long long)(uintptr_t)address);
    const char *module = module_of(&info);
    if (info.dli_sname == NULL)
        return spill_fmt(out, out_len, "0x%llx in %s",
                         (unsigned long long)(address - (const char *)info.dli_fbase), module);
    return spill_fmt(out, out_len, "%s+0x%llx in %s", info.dli_sname,
                     (unsigned long long)(address - (const char *)info.dli_saddr), module);
}

size_t spill_stack_text(uint32_t site, char *out, size_t out_len)
{
    size_t n = 0;
    out[0] = '\0';
    if (site == SPILL_NO_SITE || site > site_count)
        return 0;
    const struct site *s = by_number[site - 1];
    for (uint32_t i = 0; i < s->count && n + 1 < out_len; i++) {
        if (i > 0)
            n += spill_fmt(out + n, out_len - n, ";");
        n += frame_text(s->frames[i], out + n, out_len - n);
    }
    if (s->python != NULL && n + 1 < out_len)
        n += spill_fmt(out + n, out_len - n, "%s%s", n > 0 ? ";" : "", s->python);
    return n;
}
