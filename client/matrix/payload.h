/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Payload: what one test contributes to the long-term store
 *
 * The results are values, or expressions over values and settings; the KPIs are the results of the model, those with
 * `from` computed of the others. The same document is stored by perfd, which computes the same KPIs. Settings are the
 * parameters of the document; those that identify a run are labels, and do not tell histories apart.
 */

#include "client/matrix/results_file.h"
#include "client/matrix/test_tree.h"
#include "client/matrix/test_values.h"
#include "request/request.h"

typedef struct Payload {
        Arena arena;         /* memory of the document */
        char *text;          /* owned; the document as JSON; NULL: there is none */
        char *kpis;          /* owned; {"NAME": {"value": …, "unit": …, …}}; NULL: no model is declared */
        Submission item;     /* borrows from the arena */
        bool is_valid;       /* strictly: the settings and results are those of the model, of their types */
} Payload;

void payload_deinit(Payload *payload);

/* Makes the payload of a test. What does not conform becomes a finding of the record. 0 or a negative errno. */
int payload_make(const ResultsFile *file, TestRecord *record, const TestValues *values, Payload *ret);

/* Writes a time as text, in UTC. */
void payload_put_time(Json *json, const char *key, uint64_t time_ns);

/* Writes the settings that identify a run and those of repetitions, or the others, as members. 0 or -ENOMEM. */
int payload_put_settings(const TestRecord *record, bool are_labels, Json *json);

/* Writes {"metadata", "results", "kpis", "regression_results"}. verdicts: of the test, as JSON; NULL: not judged. */
void payload_write_json(const Payload *payload, const ResultsFile *file, const TestRecord *record,
                        const TestValues *values, const char *verdicts, Json *json);
