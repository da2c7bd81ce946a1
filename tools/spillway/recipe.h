/* SPDX-License-Identifier: Apache-2.0 */
/* Frameworks take a few large blocks of GPU memory and cut them up themselves, which hides their
 * tensors. Each has a documented switch for it. */
#ifndef SPILL_RECIPE_H
#define SPILL_RECIPE_H

#include <stdbool.h>

/* Sets the switches of the frameworks that the program ARGV uses (imports.h), and says so in one
 * line if TELL. What the user has set stays. False: no memory. */
bool spill_recipe_apply(char *const *argv, bool tell);

#endif
