/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Statistics of the data pipelines of jobs. */

#include "http/subject.h"

extern const Subject pipelines_subject;
