/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Messages to standard error */

/* Prints one line, "perfctl: …". Control characters in quoted text are escaped. */
void message_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
