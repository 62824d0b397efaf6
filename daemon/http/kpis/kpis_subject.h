/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* KPIs: routes that judge the numbers of indicators over versions. */

#include "http/subject.h"

extern const Subject kpis_subject;

void kpis_subject_regress(Exchange *exchange);
void kpis_subject_accepted(Exchange *exchange);
