/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Package check: packages that a query names, among those of all software stacks. */

#include "http/exchange.h"

/* Answers that the package of the key package.NAME or package.NAME.build is in no stack, with the most similar name. 0 for a package that
 * is in a stack, and for other keys; or EXCHANGE_ANSWERED. */
int package_check(Exchange *exchange, const char *key);
