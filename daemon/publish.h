#pragma once

/* Publish: fills a snapshot with the loop's live state and hands it to HTTP. */

#include "service.h"

void publish(Service *service);
