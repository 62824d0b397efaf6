#pragma once

/* Name of the user we run as, "" when it cannot be known without asking the network: nothing may wait for a directory server. */

#include <stddef.h>

void user_name_find(char *ret, size_t n_ret);
