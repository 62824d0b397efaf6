/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The pages for people. */

#include "http/subject.h"

void landing_answer(Exchange *exchange);
void job_page_answer(Exchange *exchange);
void indicator_page_answer(Exchange *exchange);

extern const Subject pages_subject;
