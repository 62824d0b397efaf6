/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Results publish: payloads for the long-term stores of others, OpenSearch and Horreum */

#include "client/matrix/results_report.h"

/* Appends the payloads as lines of OpenSearch's bulk API. */
void results_publish_put_bulk(const ResultsRun *run, Buffer *out);
/* Appends a list of Horreum's runs. */
void results_publish_put_horreum(const ResultsRun *run, Buffer *out);

/*
 * Creates the index, unless there is one, and sends the payloads to the server of the declaration. A test that is sent
 * again replaces itself. said: appended what became of them. Returns EXIT_DONE or EXIT_FAILED.
 */
int results_publish_send(const ResultsRun *run, Buffer *said);

/* Whether the directory was processed or fetched before; and notes that it is, if it can be written. */
bool results_publish_is_replot(const TestTree *tree);
void results_publish_note(const TestTree *tree);
