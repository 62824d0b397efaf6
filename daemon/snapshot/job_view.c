/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/job_view.h"

#include <errno.h>
#include <stdlib.h>

void job_view_deinit(JobView *view) {
        job_description_deinit(&view->info);
        free(TAKE(view->end));
        free(TAKE(view->phase));
}

const JobEnd *job_view_end(const JobView *view) {
        static const JobEnd nothing_said = {};

        return view->end ?: &nothing_said;
}

int job_view_set_end(JobView *view, const JobEnd *end) {
        if (!view->end)
                view->end = malloc(sizeof(*view->end));
        if (!view->end)
                return -ENOMEM;

        *view->end = *end;
        return 0;
}

void job_view_write_labels(const JobView *view, Json *json) {
        json_object_begin(json);
        for (size_t i = 0; i < view->info.n_labels; i++)
                json_put_string(json, view->info.labels[i].key, view->info.labels[i].value);
        json_object_end(json);
}
