/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Accepted level: the declaration that a KPI has a new level
 *
 *     {"name": "@accepted", "component": "5c0f…", "accepted": {"kpi": "PiMatmul.rate", "until_ms": 1795300000000,
 *      "where": ["matrix_size=512"], "note": "new compiler"}}
 *
 * The declaration is registered as a model is, and so has an owner, a place on disk and a limit. No indicator can have its name. The
 * component is a key that the client makes of the KPI and the conditions, so that accepting a level again replaces the declaration.
 */

#include "document/condition.h"
#include "document/model_reader.h"

#define ACCEPTED_LEVEL_NAME "@accepted"
#define ACCEPTED_LEVELS_MAX 128U /* of a user */
#define ACCEPTED_LEVEL_KPI_MAX (NAME_MAX_BYTES + 1 + KEY_MAX_BYTES) /* bytes of INDICATOR.RESULT, or of a pattern */
#define ACCEPTED_LEVEL_WHERE_MAX CONDITIONS_MAX
#define ACCEPTED_LEVEL_NOTE_MAX 1024U

/* Checks the member "accepted" of a declaration. 0, or MODEL_INVALID after a complaint. */
int accepted_level_check(ModelReader *reader, const Value *document);
