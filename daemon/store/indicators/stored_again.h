/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stored again: a result that is sent again. What is stored stays; what it lacks is added. */

#include <stdint.h>

#include "store/database.h"
#include "store/pack.h"

#define STORED_AGAIN_TEXT_MAX 256U

/* Compares the document and the exit status with those that the user's result of this id has. ret: the first difference, such as
 * "@result.elapsed is 1.5, and is 1.2 now"; "": none. 0 or an outcome of database.h. */
int stored_again_compare(Database *database, Field result_id, uint32_t uid, Field document, Field exit_status,
                         char ret[static STORED_AGAIN_TEXT_MAX]);

/* Gives the user's result of this id the specification if it has none. 0, an outcome below, or an outcome of database.h. */
enum {
        STORED_AGAIN_COMPLETED = 100, /* behind the outcomes of database.h */
        STORED_AGAIN_DIFFERS, /* it has another one, which stays */
};
int stored_again_specify(Database *database, Field result_id, uint32_t uid, int64_t specification);
