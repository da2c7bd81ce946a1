/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/probe.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "preload/base/hostmem.h"
#include "preload/base/rank.h"
#include "preload/base/size.h"

enum { SIZE_TEXT = 24, LINE = 256 };

/* The first line of PATH without its end; "" if it cannot be read. */
static const char *first_line(const char *path, char line[LINE])
{
    FILE *file = fopen(path, "re");
    line[0] = '\0';
    if (file == NULL)
        return line;
    if (fgets(line, LINE, file) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    fclose(file);
    return line;
}

static void probe_system(struct spill_findings *found)
{
    struct utsname system;
    const char *version = gnu_get_libc_version();
    char *end;
    long major = strtol(version, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    if (major > 2 || (major == 2 && minor >= 28))
        spill_finding_add(found, SPILL_FINDING_OK, "glibc", NULL, "%s", version);
    else
        spill_finding_add(found, SPILL_FINDING_BAD, "glibc",
                          "use a system with glibc 2.28 or newer", "%s is older than 2.28",
                          version);
    if (uname(&system) == 0)
        spill_finding_add(found, SPILL_FINDING_OK, "kernel", NULL, "%s %s on %s%s", system.sysname,
                          system.release, system.machine,
                          strstr(system.release, "icrosoft") != NULL
                              ? " (WSL: pinned memory is often limited)"
                              : "");
}

static void probe_memory(struct spill_findings *found)
{
    char a[SIZE_TEXT], b[SIZE_TEXT];
    uint64_t left = spill_hostmem_available(), group = spill_hostmem_group();
    unsigned ranks = spill_rank_local();
    spill_size_format(spill_hostmem_default(), b, sizeof(b));
    if (left == 0) {
        spill_finding_add(found, SPILL_FINDING_BAD, "memory", "mount /proc, or give --host-mem",
                          "cannot tell how much host memory is available");
        return;
    }
    spill_finding_add(found, SPILL_FINDING_OK, "memory", NULL,
                      "%s of host memory available%s; used without --host-mem: %s",
                      spill_size_format(left, a, sizeof(a)),
                      left == group ? ", by the limit of the control group" : "", b);
    if (ranks > 1)
        spill_finding_add(found, SPILL_FINDING_OK, "ranks", NULL,
                          "rank %s; %u on this machine share its memory", spill_rank_text(), ranks);
}

static void probe_huge_pages(struct spill_findings *found)
{
    char line[LINE];
    const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
    first_line(path, line);
    if (strstr(line, "[never]") != NULL)
        spill_finding_add(found, SPILL_FINDING_WARN, "hugepages",
                          "as root: echo madvise >/sys/kernel/mm/transparent_hugepage/enabled",
                          "transparent huge pages are off: pinning takes longer");
    else if (line[0] == '\0')
        spill_finding_add(found, SPILL_FINDING_OK, "hugepages", NULL,
                          "cannot tell (no %s); pinning may take longer", path);
    else
        spill_finding_add(found, SPILL_FINDING_OK, "hugepages", NULL, "transparent: %s", line);
}

static void probe_limits(struct spill_findings *found)
{
    struct rlimit limit;
    char size[SIZE_TEXT];
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY)
        spill_finding_add(found, SPILL_FINDING_OK, "ulimit -l", NULL, "no limit of locked memory");
    else
        spill_finding_add(found, SPILL_FINDING_OK, "ulimit -l", NULL,
                          "%s of locked memory; whether the driver minds, the probe of pinned "
                          "memory shows",
                          spill_size_format(limit.rlim_cur, size, sizeof(size)));
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        spill_finding_add(found, SPILL_FINDING_WARN, "ulimit -v", "ulimit -v unlimited",
                          "only %s of addresses: room for the GPU's may be refused",
                          spill_size_format(limit.rlim_cur, size, sizeof(size)));
}

/* The library reads what a program copies to the GPU by this call, so that a wrong address in the
 * program's hands is the program's fault, not ours. Containers sometimes forbid it. */
static void probe_reading(struct spill_findings *found)
{
    char from = 'x', to = 0, scope[LINE], line[LINE], seccomp = '?';
    struct iovec source = {&from, 1}, sink = {&to, 1};
    FILE *status = fopen("/proc/self/status", "re");
    while (status != NULL && fgets(line, sizeof(line), status) != NULL)
        if (strncmp(line, "Seccomp:", 8) == 0)
            seccomp = line[8 + strspn(line + 8, " \t")];
    if (status != NULL)
        fclose(status);
    first_line("/proc/sys/kernel/yama/ptrace_scope", scope);
    const char *filter = seccomp == '2' ? "a seccomp filter is active" : "no seccomp filter";
    if (process_vm_readv(getpid(), &sink, 1, &source, 1, 0) == 1 && to == from)
        spill_finding_add(found, SPILL_FINDING_OK, "ptrace", NULL,
                          "a process may read its own memory (%s, ptrace_scope %s)", filter,
                          scope[0] != '\0' ? scope : "none");
    else
        spill_finding_add(found, SPILL_FINDING_WARN, "ptrace",
                          "allow process_vm_readv in the container's seccomp profile",
                          "process_vm_readv is refused (%s; %s): addresses that a program uploads "
                          "from ordinary memory are not seen",
                          strerror(errno), filter);
}

void spill_probe_host(struct spill_findings *found)
{
    probe_system(found);
    probe_memory(found);
    probe_huge_pages(found);
    probe_limits(found);
    probe_reading(found);
}
