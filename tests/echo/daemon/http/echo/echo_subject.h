/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The texts that were submitted. */

#include "http/subject.h"

extern const Subject echo_subject;
