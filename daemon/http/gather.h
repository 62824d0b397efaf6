#pragma once

/* What query and rank both do: read what is selected into groups, and look up what a model says of a result. */

#include "http/exchange.h"
#include "http/grouping.h"
#include "http/selection.h"

/* 0 or EXCHANGE_ANSWERED; then *ret is NULL. */
int gather(Exchange *exchange, const Selection *selection, const GroupFields *fields, Grouping **ret, uint64_t *ret_n_scanned);

/* What the model for the selected name and component says of its results, as JSON; "" when there is none. 0 or EXCHANGE_ANSWERED. */
int gather_model(Exchange *exchange, const PointFilter *filter, Buffer *ret);
/* A member of a result there, as "unit", appended. False when it says nothing. */
bool gather_property(const Buffer *model, const char *key, const char *member, Buffer *out);
