/* SPDX-License-Identifier: Apache-2.0 */
#include "http/assets.h"

/*
 * The assembler reads the files; paths are relative to the directory in which make runs. The Makefile lists the dependencies.
 */
#define ASSET(name, path)                       \
        __asm__(".pushsection .rodata\n"        \
                ".global " #name "\n"           \
                ".hidden " #name "\n"           \
                #name ":\n"                     \
                ".incbin \"" path "\"\n"        \
                ".byte 0\n"                     \
                ".popsection\n")

ASSET(asset_index_html, "web/index.html");
ASSET(asset_job_html, "web/job.html");
ASSET(asset_indicator_html, "web/indicator.html");
ASSET(asset_style_css, "web/style.css");
ASSET(asset_openapi_json, "web/openapi.json");
