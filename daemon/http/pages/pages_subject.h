/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* HTML pages. */

#include "http/subject.h"

void pages_subject_landing(const Target *target, const Sources *sources, Response *response);
void pages_subject_job(const Target *target, const Sources *sources, Response *response);
void pages_subject_indicator(const Target *target, const Sources *sources, Response *response);

extern const Subject pages_subject;
