/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ids made by the client
 *
 * Job and result ids begin with the time in milliseconds, so that they sort by creation time, and end with random
 * bits from the kernel.
 */

#include <stdbool.h>
#include <stdint.h>

#include "request/request.h"

/* Makes a UUIDv7: 48 bits of time, version, random bits. Returns 0 or a negative errno. */
int id_make_result(uint64_t realtime_ms, uint8_t ret[static RESULT_ID_BYTES]);

#define RESULT_ID_TEXT_MAX (2U * RESULT_ID_BYTES + 1U)
/* Formats and parses an id of thirty-two hexadecimal digits. */
void id_format_result(const uint8_t id[static RESULT_ID_BYTES], char ret[static RESULT_ID_TEXT_MAX]);
bool id_parse_result(const char *text, uint8_t ret[static RESULT_ID_BYTES]);

#define JOB_ID_TEXT_MAX 17U
/*
 * Makes a job id such as "j01kb8z6m3qx7v2p": j, ten digits of time and five random digits, in base 32 without i, l, o
 * and u.
 */
int id_make_job(uint64_t realtime_ms, char ret[static JOB_ID_TEXT_MAX]);
