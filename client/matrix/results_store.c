/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/results_store.h"

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/deliver/deliver.h"
#include "util/clock.h"
#include "util/error_text.h"

static int fail(const Delivery *delivery, const Courier *courier, int outcome) {
        char reason[DELIVERY_TEXT_MAX];

        if (outcome < 0)
                return command_fail(outcome);
        delivery_explain(delivery, courier, reason);
        message_print("%s", reason);
        return EXIT_FAILED;
}

static int spool(const ResultsStoreOptions *options, const Batch *rest, Buffer *said) {
        char directory[PATH_MAX] = "", name[SPOOL_NAME_MAX];
        int r;

        r = spool_find_directory(options->spool, directory);
        if (r == 0)
                r = spool_put(directory, rest, clock_realtime_ns() / NS_PER_MS, name);
        if (r < 0) {
                message_print("cannot keep the results in %s: %s", directory[0] ? directory : "a spool",
                              error_text(-r));
                return EXIT_FAILED;
        }
        buffer_printf(said, "%zu kept in the spool; 'perfctl flush' sends them", rest->n_items);
        return EXIT_UNREACHABLE;
}

int results_store(const ResultsStoreOptions *options, const IndicatorModel *model, const Submission *items,
                  size_t n_items, Buffer *said) {
        scoped(deliver_courier_deinit) Courier courier;
        char reason[DELIVERY_TEXT_MAX];
        Batch rest;
        Delivery delivery;
        int r = 0;

        deliver_courier_init(&courier, options->socket, options->timeout_ns);
        /* a model that perfd refuses, such as one that another declaration has changed, is no reason to lose results */
        if (model)
                r = deliver_models(&courier, &model->document, 1, &delivery);
        if (r == DELIVERY_REFUSED) {
                delivery_explain(&delivery, &courier, reason);
                message_print("the model is not registered: %s", reason);
        }
        if (r < 0)
                return command_fail(r);
        r = deliver(&courier, &(Batch){ .items = items, .n_items = n_items }, &delivery);
        rest = (Batch){ .items = items + delivery.n_acked, .n_items = n_items - delivery.n_acked };
        if (r == DELIVERY_UNAVAILABLE || r == DELIVERY_UNREACHABLE) {
                (void)fail(&delivery, &courier, r);
                return spool(options, &rest, said);
        }
        if (r != 0)
                return fail(&delivery, &courier, r);
        buffer_printf(said, "%zu stored, %zu already stored", delivery.n_stored, delivery.n_duplicate);
        if (delivery.n_duplicate > 0 && delivery.reply.complaint.text[0])
                message_print("%s", delivery.reply.complaint.text);
        return EXIT_DONE;
}
