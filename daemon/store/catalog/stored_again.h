/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stored again: a result that is sent again. The stored content is kept, and missing members are added; if the sender requests it, the sent
 * content replaces the stored content. The time, the job and the batch are kept in any case.
 */

#include <stdbool.h>
#include <stdint.h>

#include "store/database/database.h"
#include "store/database/pack.h"

#define STORED_AGAIN_TEXT_MAX 256U

#define STORED_AGAIN_DOCUMENT_MAX (1024U * 1024U) /* bytes of a document that is completed */

struct Catalog;

typedef struct SentAgain {
        Field id, name, component, document, version, score, exit_status;
        uint32_t uid; /* of the sender */
        bool replaces;
} SentAgain;

/* Outcome for the stored content, specification or stack. */
typedef enum StoredAgain {
        STORED_AGAIN_UNCHANGED,
        STORED_AGAIN_COMPLETED,
        STORED_AGAIN_REPLACED,
        STORED_AGAIN_DIFFERS, /* the result has another specification or stack, which is kept */
} StoredAgain;

/*
 * Completes or replaces the content of the user's result of this id. ret_difference: the first difference that stays, such as
 * "@result.elapsed is 1.5, and is 1.2 now"; "": none. n_new_max: as for series_find(). 0 or an outcome of database.h.
 */
int stored_again_apply(Database *database, struct Catalog *catalog, const SentAgain *sent, int64_t *n_new_max, StoredAgain *ret,
                       char ret_difference[static STORED_AGAIN_TEXT_MAX]);

/* Gives the user's result of this id the specification if it has none. 0 or an outcome of database.h. */
int stored_again_specify(Database *database, const SentAgain *sent, int64_t specification, StoredAgain *ret);
