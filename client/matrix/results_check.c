/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/results_check.h"

#include <errno.h>
#include <stdlib.h>

#include "client/api/api_query.h"
#include "client/cli/command.h"
#include "client/kpi/kpi_judge.h"

void results_check_deinit(ResultsCheck *check) {
        api_query_deinit(&check->query);
        free(check->kpis);
}

int results_check(ResultsCheck *ret, const GlobalOptions *global, const Submission *items, size_t n_items) {
        scoped(buffer_deinit) Buffer path = {};
        const Value *kpis;
        int r;

        buffer_puts(&path, "/api/v1/kpis/");
        buffer_put_encoded(&path, items[0].indicator.name);
        buffer_puts(&path, "/regress");
        api_query_put_path(&path, "component", items[0].indicator.component);
        api_query_put_path(&path, "changes", "1");
        r = api_query_open_path(&ret->query, global, &path);
        if (r != EXIT_DONE)
                return r;
        kpis = value_get(ret->query.answer, "kpis");
        ret->kpis = calloc(answer_length(kpis) + 1, sizeof(*ret->kpis));
        if (!ret->kpis)
                return command_fail(-ENOMEM);
        for (size_t i = 0; i < answer_length(kpis); i++)
                if (kpi_judge_is_of(&kpis->items[i], items, n_items)) {
                        ret->kpis[ret->tally.n_all] = kpis->items[i];
                        kpi_gate_count(&ret->tally, &kpis->items[i]);
                }
        ret->member = (Member){ "kpis", { .type = VALUE_LIST, .items = ret->kpis, .n_items = ret->tally.n_all } };
        ret->answer = (Value){ .type = VALUE_OBJECT, .members = &ret->member, .n_members = 1 };
        ret->is_judged = true;
        return EXIT_DONE;
}

void results_check_write_item(const ResultsCheck *check, const Submission *item, Json *json) {
        json_object_begin(json);
        for (size_t i = 0; i < check->tally.n_all; i++)
                if (kpi_judge_is_of(&check->kpis[i], item, 1))
                        value_put_json(&check->kpis[i], answer_text(&check->kpis[i], "kpi"), json);
        json_object_end(json);
}
