/* SPDX-License-Identifier: Apache-2.0 */
#include "http/self/openapi.h"

#include "http/asset.h"

ASSET(openapi_json, "web/openapi.json");
