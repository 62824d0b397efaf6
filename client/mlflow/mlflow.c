/* SPDX-License-Identifier: Apache-2.0 */
#include "client/mlflow/mlflow.h"

#include <limits.h>
#include <string.h>
#include <sys/wait.h>

#include "client/cli/message.h"
#include "client/cli/program.h"
#include "client/deliver/spool.h"
#include "json/json.h"
#include "util/error_text.h"

#define MODULE "perfd_mlflow.py"
#define WAITING "/mlflow" /* directory of the spool */
#define PATH_TEXT_MAX (PATH_MAX + 32)

bool mlflow_is_wanted(bool is_given) {
        const char *setting = getenv("PERFD_MLFLOW");

        return is_given || (setting && strcmp(setting, "1") == 0 &&
                            (getenv("MLFLOW_RUN_ID") || getenv("MLFLOW_TRACKING_URI")));
}

void mlflow_write_context(Buffer *out, const char *given, const char *job, int64_t rank) {
        const char *end = given ? strrchr(given, '}') : NULL, *first = given ? strchr(given, '{') : NULL;
        char suffix[32];
        size_t n = strlen(job), n_suffix;

        (void)snprintf(suffix, sizeof(suffix), ".%jd", (intmax_t)rank);
        n_suffix = strlen(suffix);
        if (rank >= 0 && n > n_suffix && strcmp(job + n - n_suffix, suffix) == 0)
                n -= n_suffix;

        if (first && end > first) {
                buffer_put(out, given, (size_t)(end - given));
                if (first[1 + strspn(first + 1, " \t\r\n")] != '}')
                        buffer_putc(out, ',');
        } else
                buffer_putc(out, '{');
        buffer_puts(out, "\"perfd.job\":");
        json_string(&(Json){ .out = out }, job);
        buffer_puts(out, ",\"perfd.run\":");
        json_string_n(&(Json){ .out = out }, job, n);
        buffer_putc(out, '}');
}

static bool is_python(const char *program) {
        const char *slash = strrchr(program, '/');

        return strncmp(slash ? slash + 1 : program, "python", strlen("python")) == 0;
}

const char *mlflow_find_python(const char *program, const char *interpreter) {
        return is_python(program) ? program : is_python(interpreter) ? interpreter : "python3";
}

/* --- the module ----------------------------------------------------------------------------------- */

/* Finds the module beside this program: installed, or in the sources. Also sets $PERFD_PERFCTL for it. */
static bool find_module(char ret[static PATH_TEXT_MAX]) {
        static const char *const places[] = { "../share/perfd/python", "../clients/python", "../../clients/python" };
        char own[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

        if (n <= 0)
                return false;
        own[n] = '\0';
        if (setenv("PERFD_PERFCTL", own, 1) < 0)
                return false;
        *strrchr(own, '/') = '\0';
        for (size_t i = 0; i < N_ELEMENTS(places); i++)
                if (snprintf(ret, PATH_TEXT_MAX, "%s/%s/" MODULE, own, places[i]) < PATH_TEXT_MAX &&
                    access(ret, R_OK) == 0)
                        return true;
        return false;
}

/* python: path or name. command: of the module. job: NULL for none. Returns false after a message. */
static bool run_module(const GlobalOptions *global, const char *python, const char *command, const char *directory,
                       const char *job) {
        char module[PATH_TEXT_MAX], program[PATH_MAX], waiting[PATH_TEXT_MAX], id[NAME_MAX + 1];
        char verb[16], *words[] = { program, module, verb, waiting, job ? id : NULL, NULL };
        int status, r;

        if (global->socket)
                (void)setenv("PERFD_SOCKET", global->socket, 1);
        if (global->http_socket)
                (void)setenv("PERFD_HTTP_SOCKET", global->http_socket, 1);
        if (!find_module(module)) {
                message_print("cannot log in MLflow: " MODULE " is not installed with this perfctl");
                return false;
        }
        (void)snprintf(program, sizeof(program), "%s", python);
        (void)snprintf(verb, sizeof(verb), "%s", command);
        (void)snprintf(waiting, sizeof(waiting), "%s" WAITING, directory);
        (void)snprintf(id, sizeof(id), "%s", job ?: "");
        r = program_run(&(ProgramRun){ .words = words }, NULL, &status);
        if (r < 0)
                message_print("cannot log in MLflow: cannot execute %s: %s", python, error_text(-r));
        return r == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void mlflow_send(const GlobalOptions *global, const char *python, const char *spool, const char *job) {
        char directory[PATH_MAX] = "";
        int r = spool_find_directory(spool, directory);

        if (r < 0)
                message_print("cannot log in MLflow: no spool: %s; set PERFD_SPOOL or HOME", error_text(-r));
        else
                (void)run_module(global, python, "end", directory, job);
}

static size_t count_waiting(const char *directory) {
        char waiting[PATH_TEXT_MAX];
        struct dirent **entries;
        size_t n;

        (void)snprintf(waiting, sizeof(waiting), "%s" WAITING, directory);
        if (spool_list(waiting, &entries, &n) < 0)
                return 0;
        spool_entries_free(entries, n);
        return n;
}

bool mlflow_flush(const GlobalOptions *global, const char *directory, size_t *ret_n_waiting) {
        bool is_done = count_waiting(directory) == 0 || run_module(global, "python3", "flush", directory, NULL);

        *ret_n_waiting = count_waiting(directory);
        return is_done;
}
