/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Publish: fills a snapshot with the loop's live state and hands it to HTTP. */

#include "state.h"

void publish(Service *service);
