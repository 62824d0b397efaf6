/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/job_view.h"

void job_view_deinit(JobView *view) {
        job_description_deinit(&view->info);
}

void job_view_write_labels(const JobView *view, Json *json) {
        json_object_begin(json);
        for (size_t i = 0; i < view->info.n_labels; i++)
                json_put_string(json, view->info.labels[i].key, view->info.labels[i].value);
        json_object_end(json);
}
