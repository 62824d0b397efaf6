/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* HTML pages. */

#include "http/subject.h"

void pages_subject_landing(Exchange *exchange);
void pages_subject_job(Exchange *exchange);
void pages_subject_indicator(Exchange *exchange);

extern const Subject pages_subject;
