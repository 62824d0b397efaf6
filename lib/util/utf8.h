#pragma once

/* UTF-8 as RFC 3629 has it: no surrogates, nothing over-long, nothing past U+10FFFF. */

#include <stddef.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the sequence at `text`, of which n > 0 bytes are left; 0 when there is no valid one. */
size_t utf8_length(const char *text, size_t n);
