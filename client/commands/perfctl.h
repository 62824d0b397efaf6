/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* perfctl: parses the command line and runs one command. Data goes to standard output, messages to standard error. */

/* Returns the exit status. */
int perfctl_main(int argc, char **argv);
