/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Submitted texts. */

#include "http/subject.h"

extern const Subject echo_subject;
