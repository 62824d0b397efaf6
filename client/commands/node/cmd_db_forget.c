/* SPDX-License-Identifier: Apache-2.0 */
#include <pwd.h>
#include <stdio.h>

#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/delivery_failure.h"
#include "client/commands/node/user_id.h"
#include "client/deliver/deliver.h"
#include "util/clock.h"

#define TIMEOUT_TEXT "1h"

typedef struct ForgetOptions {
        const char *user;
        OptionNumber before;
        bool copies;
        uint64_t timeout_ns;
} ForgetOptions;

/* perfd has no access to the spools of users, and homes may be on another machine. */
static void note_spool(uint64_t uid) {
        const struct passwd *entry = getpwuid((uid_t)uid);

        if (uid == 0)
                message_print("not forgotten: results that root has not delivered, in /var/spool/perfd");
        else
                message_print("not forgotten: results that uid %ju has not delivered, in %s/.local/state/perfd/spool; "
                              "and what the user has in files",
                              (uintmax_t)uid, entry ? entry->pw_dir : "the user's home directory:");
}

static int forget_run(const CommandLine *line) {
        const ForgetOptions *options = line->options;
        uint64_t now_ns = clock_realtime_ns(), uid, before_ms = 0;
        scoped(deliver_courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        Delivery delivery;
        int r;

        if (!options->user)
                return command_refuse(line->command->name, "--user is missing");
        r = user_id_find(options->user, &uid);
        if (r != 0)
                return r;
        if (options->before.is_given)
                before_ms = (now_ns > options->before.value ? now_ns - options->before.value : NS_PER_MS) / NS_PER_MS;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        r = deliver_forget(&courier, (uint32_t)uid, before_ms, options->copies, &delivery);
        if (r != 0)
                return delivery_failure_print(&delivery, &courier, r);

        buffer_printf(&out, "uid %ju forgotten: %s\n", (uintmax_t)uid, delivery.reply.complaint.text);
        note_spool(uid);
        return output_print(&out);
}

const Command cmd_db_forget = {
        .name = "db forget",
        .summary = "Remove what is stored of a user",
        .help = "For administrators. Removes the jobs, results, pipelines and models of the user, while perfd runs, "
                "and rewrites the database, so that no byte of them is left. The user must have no running job, "
                "unless --before is given. Can be repeated after an interruption.",
        .examples = { "perfctl db forget --user alice", "perfctl db forget --user 1042 --copies",
                      "perfctl db forget --user alice --before 90d" },
        COMMAND_OPTION_ROWS(ForgetOptions,
                OPTION_ROW_USER(ForgetOptions, user),
                { "before", 0, "AGE", "Forget only what is older than AGE, such as 90d", OPTION_AGE(ForgetOptions, before) },
                { "copies", 0, NULL, "Delete also the files that were put aside beside the database", OPTION_FLAG(ForgetOptions, copies) },
                { "timeout", 't', "TIME", "Maximum time to wait", OPTION_DURATION(ForgetOptions, timeout_ns, NS_PER_S), .initial = TIMEOUT_TEXT }),
        .run = forget_run,
};
