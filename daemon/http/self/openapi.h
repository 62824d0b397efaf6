/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* OpenAPI: description of the API, see asset.h. */

extern const char openapi_json[];
