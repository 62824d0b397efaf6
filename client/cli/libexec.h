/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Programs of perfctl that are not commands of their own for users */

/*
 * Runs a program in place of this one: it is beside perfctl in a build, and in ../libexec/perfd once installed.
 * package: the one that has it, for the message. Returns only on failure: EXIT_FAILED after a message.
 */
int libexec_run(const char *program, const char *package, char *const *argv);
