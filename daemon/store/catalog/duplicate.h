/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Duplicate: a result that is sent again. The stored content is kept, and missing members are added; if the sender
 * requests it, the sent
 * content replaces the stored content. The time, the job and the batch are kept in any case.
 */

#include <stdbool.h>
#include <stdint.h>

#include "store/database/database.h"
#include "store/database/pack.h"

#define DUPLICATE_TEXT_MAX 256U

#define DUPLICATE_DOCUMENT_MAX (1024U * 1024U) /* bytes of a document that is completed */

struct Catalog;

typedef struct Duplicate {
        Field id, name, component, document, version, score, exit_status;
        uint32_t uid; /* of the sender */
        bool replaces;
} Duplicate;

/* Outcome for the stored content, specification or stack. */
typedef enum DuplicateOutcome {
        DUPLICATE_UNCHANGED,
        DUPLICATE_COMPLETED,
        DUPLICATE_REPLACED,
        DUPLICATE_DIFFERS, /* the result has another specification or stack, which is kept */
} DuplicateOutcome;

/*
 * Completes or replaces the content of the user's result of this id. ret_difference: the first difference that
 * stays, such as "@result.elapsed is 1.5, and is 1.2 now"; "": none. n_new_max: as for catalog_find_series(). 0 or
 * an outcome of database.h.
 */
int duplicate_apply(Database *database, struct Catalog *catalog, const Duplicate *sent, int64_t *n_new_max,
                    DuplicateOutcome *ret, char ret_difference[static DUPLICATE_TEXT_MAX]);
