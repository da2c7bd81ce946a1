/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/demangle.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangler(const char *mangled, char *buffer, size_t *length, int *status);

/* The C++ runtime is borrowed if it is there: linking it for names alone would make it a need. */
static demangler *find_demangler(void)
{
    static demangler *found;
    static int looked;
    if (!looked) {
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        looked = 1;
        if (library != NULL)
            *(void **)&found = dlsym(library, "__cxa_demangle");
    }
    return found;
}

/* Cuts the parameter list: the first '(' outside template brackets that opens one. */
static void trim(char *text)
{
    int depth = 0;
    for (char *p = text; *p != '\0'; p++) {
        depth += (*p == '<') - (*p == '>');
        if (*p == '(' && depth == 0 && strncmp(p, "(anonymous", 10) != 0 && p != text) {
            *p = '\0';
            break;
        }
    }
    /* Functions made from templates carry their return type. */
    if (strncmp(text, "void ", 5) == 0)
        memmove(text, text + 5, strlen(text + 5) + 1);
}

char *spill_demangle(const char *name, char *out, size_t out_len)
{
    int status = -1;
    demangler *demangle = strncmp(name, "_Z", 2) == 0 ? find_demangler() : NULL;
    char *text = demangle != NULL ? demangle(name, NULL, NULL, &status) : NULL;
    if (text != NULL && status == 0)
        trim(text);
    snprintf(out, out_len, "%s", text != NULL && status == 0 ? text : name);
    free(text);
    return out;
}
