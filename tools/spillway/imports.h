/* SPDX-License-Identifier: Apache-2.0 */
/* Which training frameworks a command line is going to use, told from the text of the Python
 * program it names, without running anything. */
#ifndef SPILL_IMPORTS_H
#define SPILL_IMPORTS_H

enum spill_framework {
    SPILL_FRAMEWORK_PYTORCH = 1,
    SPILL_FRAMEWORK_JAX = 2,
    SPILL_FRAMEWORK_TENSORFLOW = 4
};

/* The frameworks (bits of enum spill_framework) of the program that ARGV starts, 0 if it starts no
 * Python or imports none. Finds the script after python3, after launchers such as torchrun, srun
 * and env, or ARGV itself when it is a Python script; reads its import lines and those of its own
 * modules, beside it and in PYTHONPATH. What is imported by name at run time is not seen; a line of
 * a longer text that looks like an import is taken for one. */
unsigned spill_imports_find(char *const *argv);

#endif
