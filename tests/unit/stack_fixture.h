/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stacks of results, shared by the tests of stacks. */

#include "run_results_fixture.h"

#include "value/value_parse.h"

/* Reads a stack as the daemon does. The arena holds it. */
static inline SubmissionStack stack_of(Arena *arena, const char *text) {
        scoped(buffer_deinit) Buffer form = {};
        SubmissionStack stack = {};
        const Value *document;
        Complaint complaint;
        bool is_canonical;
        ValueError error;

        assert_int_equal(value_parse(text, strlen(text), arena, &document, &is_canonical, &error), 0);
        if (stack_from_value(document, arena, &stack.stack, &complaint) != 0)
                fail_msg("%s: %s", complaint.path, complaint.text);
        assert_int_equal(stack_put_canonical(&stack.stack, &form), 0);
        stack.n_bytes = form.n;
        stack_digest(&form, stack.digest);
        return stack;
}

static inline void digits_of(const SubmissionStack *stack, char ret[static 2 * STACK_DIGEST_BYTES + 1]) {
        for (size_t i = 0; i < STACK_DIGEST_BYTES; i++)
                (void)snprintf(ret + 2 * i, 3, "%02x", stack->digest[i]);
}

/* Stores result n with a stack; stack NULL: without. Returns what the store says of it, borrowed until the next
 * completion. */
static inline const ResultsStored *put_with_stack(Store *store, uint64_t n, const IndicatorModel *model,
                                                  const SubmissionStack *stack) {
        RunResults results;
        StoreDone done;

        run_results_make_nth(&results, n, model);
        results.submission.stack = stack;
        assert_int_equal(
                store_put(store, result_rows_pack(&results.submission, 1, &(Peer){ .uid = 1000 }, 5000, cookie_of(n))),
                0);
        assert_true(wait_done(store, &done, DEADLINE_MS));
        assert_true(done.outcome == STORE_DONE || done.outcome == STORE_DUPLICATE);
        return result_rows_stored(done.rows);
}
