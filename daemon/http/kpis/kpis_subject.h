/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* KPIs: routes that judge the numbers of indicators over versions, and collectors of the current numbers. */

#include "http/subject.h"

extern const Subject kpis_subject;
