/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* perfd itself: whether it runs, its API and its own statistics. */

#include "http/subject.h"

/* Description of the API, see asset.h. */
extern const char self_subject_openapi[];

extern const Subject self_subject;
