/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pages/page_assets.h"

#include "http/asset.h"

ASSET(page_assets_index_html, "web/index.html");
ASSET(page_assets_job_html, "web/job.html");
ASSET(page_assets_indicator_html, "web/indicator.html");
ASSET(page_assets_style_css, "web/style.css");
