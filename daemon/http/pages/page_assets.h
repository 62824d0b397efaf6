/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Page assets: templates of the pages, and their style, see asset.h. */

extern const char page_assets_index_html[];
extern const char page_assets_job_html[];
extern const char page_assets_indicator_html[];
extern const char page_assets_style_css[];
