/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Rank answer HTML: the answer of /api/v1/indicators/NAME/rank as tables, with the other differences between
 * software stacks */

#include "json/json_text.h"

/* Appends a table for each ranking, at most 20. answer: the JSON text. */
void rank_answer_html(Buffer *out, JsonText answer);
