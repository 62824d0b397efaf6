/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of subjects
 *
 * A new subject is a folder of http/ with a row here.
 */

#include "http/indicators/indicators_subject.h"
#include "http/jobs/jobs_subject.h"
#include "http/kpis/kpis_subject.h"
#include "http/node/node_subject.h"
#include "http/pipelines/pipelines_subject.h"
#include "http/self/self_subject.h"
#include "http/subject.h"
#include "http/web/web_subject.h"

const Subject *const subjects[] = {
        &node_subject,
        &jobs_subject,
        &indicators_subject,
        &kpis_subject,
        &pipelines_subject,
        &self_subject,
        &web_subject,
        NULL,
};
