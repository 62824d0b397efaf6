/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Files of web/, embedded at build time. NUL-terminated. */

extern const char asset_index_html[];
extern const char asset_job_html[];
extern const char asset_indicator_html[];
extern const char asset_style_css[];
extern const char asset_openapi_json[];
