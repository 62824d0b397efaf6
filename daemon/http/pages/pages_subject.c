/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pages/pages_subject.h"

static const Route routes[] = {
        { "/",                  "",                                                               false, true,  pages_subject_landing },
        { "/jobs/{id}",         "",                                                               false, true,  pages_subject_job },
        { "/indicators/{name}", "where component version since_ms until_ms objective direction by hold across", false, true, pages_subject_indicator },
        {},
};

const Subject pages_subject = { .routes = routes };
