/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Embed: a file that is part of the program, NUL-terminated
 *
 * The assembler reads the file; the path is relative to the directory in which make runs. The Makefile lists the
 * objects that depend on such files.
 */

#define EMBED(name, path)                       \
        __asm__(".pushsection .rodata\n"        \
                ".global " #name "\n"           \
                ".hidden " #name "\n"           \
                #name ":\n"                     \
                ".incbin \"" path "\"\n"        \
                ".byte 0\n"                     \
                ".popsection\n")
