/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pages/pages_subject.h"

#include "util/scoped.h"

static const Route routes[] = {
        { "/",                  "",                                                               false, landing_answer },
        { "/jobs/{id}",         "",                                                               false, job_page_answer },
        { "/indicators/{name}", "where component version since_ms until_ms objective direction", false, indicator_page_answer },
};

const Subject pages_subject = {
        .routes = routes,
        .n_routes = N_ELEMENTS(routes),
};
