/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Web page: the files of web/, which read the JSON API. */

#include "http/asset.h"
#include "http/subject.h"

extern const Subject web_subject;

/* The first is index.html. */
extern const Asset web_files[];
