/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/parser_step.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "client/cli/program.h"
#include "text/encoding.h"
#include "util/error_text.h"
#include "util/scoped.h"
#include "value/value_parse.h"

/* Says why the program has no values. False: nothing is wrong. */
static bool complain(int r, int status, const char *program, const char *name, Findings *findings) {
        if (r == -ETIME)
                findings_error(findings, "%s: %s did not end within parser_timeout", name, program);
        else if (r == -EFBIG)
                findings_error(findings, "%s: %s printed more than %u MiB", name, program, PARSER_STEP_BYTES_MAX >> 20);
        else if (r < 0)
                findings_error(findings, "%s: %s: %s", name, program, error_text(-r));
        else if (WIFSIGNALED(status))
                findings_error(findings, "%s: %s was ended by signal %d", name, program, WTERMSIG(status));
        else if (WEXITSTATUS(status) != 0)
                findings_error(findings, "%s: %s exited with %d", name, program, WEXITSTATUS(status));
        else
                return false;
        return true;
}

int parser_step_run(const Value *words, const char *directory, const char *name, uint64_t timeout_ns, Arena *arena,
                    const Value **ret, Findings *findings) {
        scoped(freep) char **command = calloc(words->n_items + 2, sizeof(*command));
        const char *program = words->items[0].string;
        scoped(buffer_deinit) Buffer out = { .n_max = PARSER_STEP_BYTES_MAX };
        ValueError error;
        int r, status = 0;

        *ret = NULL;
        if (!command)
                return -ENOMEM;
        for (size_t i = 0; i < words->n_items; i++)
                command[i] = (char *)words->items[i].string;
        command[words->n_items] = (char *)directory;
        r = program_run(&(ProgramRun){ .words = command, .has_group = true, .timeout_ns = timeout_ns }, &out, &status);
        if (complain(r, status, program, name, findings))
                return 0;
        if (out.n > 0 && encoding_unify(out.text, &out.n) == ENCODING_FOREIGN)
                r = VALUE_END;
        else
                r = value_parse_only(out.text, out.n, arena, ret, &error);
        if (r < 0)
                return r;
        if (r == VALUE_MALFORMED)
                findings_error(findings, "%s: %s:%u:%u: %s", name, program, error.line, error.column, error.text);
        else if (r != 0 || (*ret)->type != VALUE_OBJECT)
                findings_error(findings, "%s: %s printed no JSON object of values", name, program);
        if (r != 0 || (*ret)->type != VALUE_OBJECT)
                *ret = NULL;
        return 0;
}
