/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of subjects
 *
 * A new subject is a folder of store/ with a row here.
 */

#include "store/retention/expiry.h"
#include "store/retention/holders.h"
#include "store/indicators/result_rows.h"
#include "store/jobs/job_rows.h"
#include "store/node/store_node.h"
#include "store/pipelines/pipeline_rows.h"
#include "store/table/store_subject.h"

const StoreSubject *const store_subject_list[] = {
        &store_jobs,
        &store_indicators,
        &store_pipelines,
        &store_node,
        &holders_subject,
        &expiry_subject,
        NULL,
};
