/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text: formats numbers, times and words for display */

#include <stdint.h>

#include "util/buffer.h"

#define TEXT_MAX 64U
/* Formats a duration: "250 ms", "12.3 s", "4 min 05 s", "3 h 02 min", "2 d 04 h". */
void text_duration(uint64_t ns, char ret[static TEXT_MAX]);
/* As text_duration() for seconds from an answer: "-" if negative or not finite. */
void text_seconds(double s, char ret[static TEXT_MAX]);
/* As above with three significant digits and a unit from ns to h, of the same width for all: "880 ns", "1.5 min". */
void text_seconds_brief(double s, char ret[static TEXT_MAX]);
/* Formats with three or four significant digits: "0.0123", "12.3", "1234". */
void text_number(double v, char ret[static TEXT_MAX]);
/*
 * Formats a measured number with its unit unknown: six significant digits, all digits of a whole part, in groups of
 * three from 10,000 on, and an exponent only below 0.0001 and from 1e15 on: "0.123457", "3.53", "21,897,600,000".
 */
void text_figure(double v, char ret[static TEXT_MAX]);
/* Formats a number of CPUs: "3.10", "12.5", "32". */
void text_cpus(double cpus, char ret[static TEXT_MAX]);
/* Formats mebibytes: "512 KiB", "12.3 MiB", "1.50 TiB". */
void text_mib(double mib, char ret[static TEXT_MAX]);
/* Formats an energy: "1234 J", "0.100 MJ". */
void text_joules(double joules, char ret[static TEXT_MAX]);
/* Formats local time: "2026-11-20 21:58:18"; "-" for 0. */
void text_time(uint64_t realtime_ms, char ret[static TEXT_MAX]);
/* Returns the first 8 digits of a build-id or a digest of a file, else the text. */
const char *text_shorten_digest(const char *text, char ret[static TEXT_MAX]);
/* Appends text with U+FFFD in place of each NUL and each byte that is not valid UTF-8. */
void text_put_valid(Buffer *out, const char *text, size_t n);
/* Appends a word for a shell: unchanged if that is safe, else within '…'. */
void text_put_word(Buffer *out, const char *word);
