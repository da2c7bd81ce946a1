/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/glob.h"

#include <string.h>

bool spill_glob(const char *pattern, size_t length, const char *name)
{
    const char *end = pattern + length, *star = NULL, *retry = NULL;
    while (*name != '\0') {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            retry = name;
        } else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star; /* the last star takes one letter more */
            name = ++retry;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}

bool spill_glob_list(const char *list, const char *name)
{
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        if (length > 0 && spill_glob(list, length, name))
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}
