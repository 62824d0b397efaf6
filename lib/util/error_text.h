/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Error text: what an errno means
 *
 * The functions of the C library for this are newer than some distributions (strerrordesc_np() of glibc 2.32), or
 * translate (strerror()): what perfd says does not depend on the locale. From any thread; the texts are constant.
 */

/* error: positive. Never NULL. */
const char *error_text(int error);
/* Returns the name, such as ENOSPC. Never NULL. */
const char *error_text_name(int error);
