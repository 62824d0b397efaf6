/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Results store: payloads to perfd, or to the spool while perfd is away */

#include "client/matrix/payload.h"
#include "util/buffer.h"

typedef struct ResultsStoreOptions {
        const char *socket, *spool; /* NULL: not given */
        uint64_t timeout_ns;
} ResultsStoreOptions;

/*
 * Registers the model of the results and stores the items. said: appended what became of them, "3 stored". Returns
 * EXIT_DONE, EXIT_UNREACHABLE if they are in the spool, or EXIT_FAILED after a message.
 */
int results_store(const ResultsStoreOptions *options, const IndicatorModel *model, const Submission *items,
                  size_t n_items, Buffer *said);
