/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Node subject: the node's history. */

#include "store/subject.h"

extern const Subject node_subject;
