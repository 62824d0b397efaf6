/* SPDX-License-Identifier: Apache-2.0 */
#include "document/model_jobs.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "util/scoped.h"

static int take_labels(ModelReader *reader, const Value *match, const Value **ret) {
        const Value *labels = value_get_given(match, "labels");

        if (!labels)
                return 0;
        if (labels->type != VALUE_OBJECT || labels->n_members > MODEL_NAMES_MAX)
                return model_reader_wrong(reader, "labels", "must map up to %u labels to patterns, as in {model: 'llama*'}",
                                          MODEL_NAMES_MAX);
        for (size_t i = 0; i < labels->n_members; i++)
                if (labels->members[i].value.type != VALUE_STRING)
                        return model_reader_wrong(reader, "labels", "'%.60s' is %s, must be a pattern in quotation marks",
                                                  labels->members[i].key, value_type_text(&labels->members[i].value));
        *ret = labels;
        return 0;
}

int model_jobs_take(ModelReader *reader, const Value *document, ModelJobs *ret) {
        static const char *const subjects[] = { "job" }, *const keys[] = { "name", "labels" };
        const Value *match = value_get_given(document, "match");
        unsigned subject = N_ELEMENTS(subjects);
        int r;

        r = model_reader_take_word(reader, document, "of", subjects, N_ELEMENTS(subjects), &subject);
        if (r != 0)
                return r;
        ret->is_set = subject < N_ELEMENTS(subjects);
        if (!match)
                return 0;
        if (!ret->is_set)
                return model_reader_wrong(reader, "match", "is for models of jobs: add of: job");
        if (match->type != VALUE_OBJECT)
                return model_reader_wrong(reader, "match", "is %s, must be a mapping as in {name: 'train-*'}", value_type_text(match));

        (void)snprintf(reader->path, sizeof(reader->path), "match");
        r = model_reader_check_keys(reader, match, keys, N_ELEMENTS(keys));
        if (r == 0)
                r = model_reader_take_text(reader, match, "name", MODEL_JOBS_PATTERN_MAX_BYTES, &ret->name);
        if (r == 0)
                r = take_labels(reader, match, &ret->labels);
        reader->path[0] = '\0';
        return r;
}

bool model_jobs_fit(const ModelJobs *jobs, const char *name, const char *(*label)(const void *job, const char *key), const void *job) {
        if (!jobs->is_set || (jobs->name && fnmatch(jobs->name, name, 0) != 0))
                return false;

        for (size_t i = 0; jobs->labels && i < jobs->labels->n_members; i++) {
                const char *value = label(job, jobs->labels->members[i].key);

                if (!value || fnmatch(jobs->labels->members[i].value.string, value, 0) != 0)
                        return false;
        }
        return true;
}
