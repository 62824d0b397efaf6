/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>

#include "client/report/report.h"
#include "util/clock.h"
#include "util/parse.h"

#define NAME_COLUMNS_MIN 12U
#define TIME_LIMIT_MAX_S (366U * 24 * 3600) /* a longer one is not a limit */
#define SHELL_SIGNALS 128 /* a shell reports a signal as 128 plus its number */

/* --- exit status ---------------------------------------------------------------------------------- */

/* sigabbrev_np() and sigdescr_np() are newer than some distributions (glibc 2.32). */
static const char *const signal_names[] = {
#define X(name) [SIG##name] = #name,
        X(HUP) X(INT) X(QUIT) X(ILL) X(TRAP) X(ABRT) X(BUS) X(FPE) X(KILL) X(USR1) X(SEGV) X(USR2) X(PIPE) X(ALRM) X(TERM)
        X(STKFLT) X(CHLD) X(CONT) X(STOP) X(TSTP) X(TTIN) X(TTOU) X(URG) X(XCPU) X(XFSZ) X(VTALRM) X(PROF) X(WINCH)
        X(POLL) X(PWR) X(SYS)
#undef X
};

const char *report_signal_name(int64_t signal) {
        return signal > 0 && (size_t)signal < N_ELEMENTS(signal_names) ? signal_names[signal] : NULL;
}

static const char *signal_words(int64_t signal) {
        return report_signal_name(signal) ? strsignal((int)signal) : NULL;
}

/* Explains an exit status that a shell or perfctl uses. */
static const char *status_words(int64_t status) {
        if (status == 126)
                return "cannot be executed";
        if (status == 127)
                return "not found";
        return status > SHELL_SIGNALS ? signal_words(status - SHELL_SIGNALS) : NULL;
}

/* Formats the final state that Slurm has told: "COMPLETED", "FAILED: exit 3", "CANCELLED: signal 15". */
static Style format_slurm_state(const Value *slurm, char ret[static REPORT_EXIT_MAX]) {
        const char *state = answer_text(slurm, "state");
        int64_t status = 0, signal = 0;
        int n;

        (void)value_get_int(slurm, "exit_status", &status);
        (void)value_get_int(slurm, "signal", &signal);
        n = snprintf(ret, REPORT_EXIT_MAX, "%.40s", state);
        if (status > 0)
                snprintf(ret + n, REPORT_EXIT_MAX - (size_t)n, ": exit %jd", (intmax_t)status);
        else if (signal > 0 && signal < _NSIG) /* Slurm's own numbers are beyond: 125 says what the state says */
                snprintf(ret + n, REPORT_EXIT_MAX - (size_t)n, ": signal %jd", (intmax_t)signal);
        return strcmp(state, "COMPLETED") == 0 ? STYLE_GOOD : strcmp(state, "REQUEUED") == 0 ? STYLE_WARN : STYLE_BAD;
}

Style report_format_exit(const Value *job, char ret[static REPORT_EXIT_MAX]) {
        const char *state = answer_text(job, "state"), *words;
        const Value *exit = value_get(job, "exit"), *slurm = value_get(job, "slurm");
        int64_t status = 0, signal = 0;

        if (*answer_text(slurm, "state"))
                return format_slurm_state(slurm, ret);
        if (!value_get_int(exit, "status", &status)) {
                bool is_ended = strcmp(state, "finished") == 0;

                snprintf(ret, REPORT_EXIT_MAX, "%.40s%s", state, is_ended ? ": exit status unknown" : "");
                return strcmp(state, "running") == 0 ? STYLE_GOOD : is_ended ? STYLE_DIM : STYLE_WARN;
        }

        (void)value_get_int(exit, "signal", &signal);
        words = signal > 0 ? signal_words(signal) : status_words(status);
        if (signal > 0 && words)
                snprintf(ret, REPORT_EXIT_MAX, "%.20s: %s (signal %jd)", state, words, (intmax_t)signal);
        else
                snprintf(ret, REPORT_EXIT_MAX, "%.20s: exit %jd%s%s%s", state, (intmax_t)status, words ? " (" : "",
                         words ? words : "", words ? ")" : "");
        return status == 0 && signal == 0 ? STYLE_GOOD : STYLE_BAD;
}

static void write_title(Screen *screen, const Value *job) {
        const char *name = answer_text(job, "name");
        char exit[REPORT_EXIT_MAX];
        Style style = report_format_exit(job, exit);
        size_t n_taken = strlen("Job  ()  ") + strlen(answer_text(job, "id")) + strlen(exit);
        size_t n_name = screen->width > n_taken + NAME_COLUMNS_MIN ? screen->width - n_taken : NAME_COLUMNS_MIN;

        screen_style_begin(screen, STYLE_BOLD);
        buffer_puts(screen->out, "Job ");
        (void)screen_text(screen, answer_text(job, "id"));
        if (*name) {
                buffer_puts(screen->out, " (");
                (void)screen_text_cut(screen, name, n_name);
                buffer_putc(screen->out, ')');
        }
        screen_style_end(screen);

        buffer_puts(screen->out, "  ");
        screen_styled(screen, style, exit);
        buffer_putc(screen->out, '\n');
}

/* --- command, place and time ---------------------------------------------------------------------- */

static void write_text(Screen *screen, const char *label, const char *text) {
        if (*text)
                sheet_row_write(screen, label, NULL, text);
}

/* Writes "rank 3 of 8" or "rank 3", or nothing if the rank is unknown. */
static void put_index(SheetRow *row, const char *words, const Value *job, const char *key, const char *total_key) {
        int64_t index, total;

        if (!value_get_int(job, key, &index))
                return;
        if (value_get_int(job, total_key, &total) && total > 0)
                sheet_row_printf(row, "%s %jd of %jd", words, (intmax_t)index, (intmax_t)total);
        else
                sheet_row_printf(row, "%s %jd", words, (intmax_t)index);
}

static void write_where(Screen *screen, const Value *job, const Value *on) {
        const char *user = answer_text(job, "user"), *host = answer_text(on, "hostname");
        int64_t pid, cpus, uid;
        SheetRow row;

        sheet_row_begin(&row, screen, "where");
        sheet_row_put(&row, *host ? host : "this node");
        if (value_get_int(on, "cpus", &cpus) && cpus > 0)
                sheet_row_printf(&row, "%jd CPUs", (intmax_t)cpus);
        put_index(&row, "rank", job, "rank", "ranks");
        put_index(&row, "node", job, "node_index", "nodes");
        if (value_get_int(job, "pid", &pid) && pid > 0)
                sheet_row_printf(&row, "process %jd", (intmax_t)pid);

        if (*user)
                sheet_row_printf(&row, "by %s", user);
        else if (value_get_int(job, "uid", &uid) && uid >= 0 && uid != JOB_UID_UNKNOWN)
                sheet_row_printf(&row, "by user %jd", (intmax_t)uid);
        sheet_row_end(&row);
}

/* Appends " of 24 h (13 %)" to the duration of a job with a time limit, which is a label of jobs of Slurm. */
static void put_time_limit(SheetRow *row, const Value *job, uint64_t ms) {
        char limit[TEXT_MAX], share[TEXT_MAX];
        uint64_t limit_s;

        if (parse_u64(answer_text(value_get(job, "labels"), "time_limit"), &limit_s) != 0 || limit_s == 0 ||
            limit_s > TIME_LIMIT_MAX_S)
                return;
        text_duration(limit_s * NS_PER_S, limit);
        sheet_text_share((double)ms / 1e3 / (double)limit_s, share);
        sheet_row_put_words(row, "of");
        sheet_row_put_words(row, limit);
        (void)snprintf(limit, sizeof(limit), "(%.20s)", share);
        sheet_row_put_words(row, limit);
}

void report_write_time(Screen *screen, const Value *job, uint64_t begin_ms, uint64_t end_ms, uint64_t now_ms) {
        char from[TEXT_MAX], to[TEXT_MAX], duration[TEXT_MAX] = "-";
        bool is_running = end_ms == 0;
        SheetRow row;

        text_time(begin_ms, from);
        text_time(end_ms, to);
        if (is_running)
                end_ms = now_ms;
        if (end_ms >= begin_ms && end_ms > 0)
                text_duration((end_ms - begin_ms) * NS_PER_MS, duration);
        else if (is_running) /* after the last sample; or not running, with an unknown end */
                strcpy(duration, now_ms > 0 ? "just begun," : "unknown,");

        sheet_row_begin(&row, screen, "time");
        sheet_row_put_styled(&row, STYLE_BOLD, duration);
        if (end_ms > begin_ms)
                put_time_limit(&row, job, end_ms - begin_ms);
        if (is_running) {
                sheet_row_put_words(&row, "since");
                sheet_row_put_words(&row, from);
        } else /* same day: the date is shown once */
                sheet_row_printf(&row, "%s to %s", from, strncmp(from, to, 11) == 0 ? to + 11 : to);
        sheet_row_end(&row);
}

/* Writes a path; if it does not fit the line, only its end. */
static void write_path(Screen *screen, const char *path, const char *remark) {
        scoped(buffer_deinit) Buffer text = {};
        size_t n_room = screen->width > SHEET_INDENT + 20 ? screen->width - SHEET_INDENT : 20;
        const char *end = path;

        while (strlen(remark) + strlen(end) + 1 > n_room && strchr(end + 1, '/'))
                end = strchr(end + 1, '/');
        buffer_printf(&text, "%s%s%s", end == path ? "" : screen->has_unicode ? "…" : "...", end, remark);
        write_text(screen, "cgroup", text.text ? text.text : "");
}

static void write_isolation(Screen *screen, const Value *job) {
        const char *path = answer_text(job, "cgroup"), *last = strrchr(path, '/');
        int isolation = job_isolation_find(answer_text(job, "isolation"));
        scoped(buffer_deinit) Buffer text = {};

        if (isolation < 0) /* of another version of perfd */
                return;
        switch ((Isolation)isolation) {
        case ISOLATION_NONE:
                write_text(screen, "cgroup",
                           report_has_own(job) ? "none for this job; CPU time from wait4(2) at the end"
                                               : "none for this job; metrics are of the node");
                break;
        case ISOLATION_SCOPE:
                buffer_printf(&text, "scope %s (created for this job)", last ? last + 1 : path);
                write_text(screen, "cgroup", text.text ? text.text : "");
                break;
        case ISOLATION_CGROUP:
                write_path(screen, path, " (created for this job)");
                break;
        case ISOLATION_SUBREAPER:
                write_text(screen, "cgroup", "none for this job; CPU time from wait4(2) at the end");
                break;
        case ISOLATION_FOUND:
                write_path(screen, path, " (existed before)");
                break;
        case N_ISOLATIONS:
                break;
        }
}

static void write_usage(Screen *screen, const Value *job) {
        const Value *rusage = value_get(job, "rusage");
        char user[TEXT_MAX], system[TEXT_MAX], memory[TEXT_MAX];
        SheetRow row;

        if (!rusage || rusage->type != VALUE_OBJECT)
                return;

        text_seconds(answer_number_or_zero(rusage, "ru_utime"), user);
        text_seconds(answer_number_or_zero(rusage, "ru_stime"), system);
        text_mib(answer_number_or_zero(rusage, "ru_maxrss") / 1024, memory);
        sheet_row_begin(&row, screen, "rusage");
        sheet_row_printf(&row, "CPU %s user", user);
        sheet_row_printf(&row, "%s system", system);
        sheet_row_printf(&row, "max RSS %s", memory);
        sheet_row_end(&row);
}

static void write_labels(Screen *screen, const Value *job) {
        const Value *labels = value_get(job, "labels");
        SheetRow row;

        if (!labels || labels->type != VALUE_OBJECT || labels->n_members == 0)
                return;

        sheet_row_begin(&row, screen, "labels");
        for (size_t i = 0; i < labels->n_members; i++) {
                const Value *value = &labels->members[i].value;

                sheet_row_printf(&row, "%s=%s", labels->members[i].key,
                                 value->type == VALUE_STRING ? value->string : "");
        }
        sheet_row_end(&row);
}

static void write_note(Screen *screen, const char *note) {
        SheetRow row;

        if (!*note)
                return;
        sheet_row_begin(&row, screen, "note");
        sheet_row_put_words_styled(&row, STYLE_WARN, note);
        sheet_row_end(&row);
}

void report_write_head(Screen *screen, const Value *job, const Value *node) {
        Sheet sheet;

        sheet_init(&sheet, screen, job, node);
        write_title(screen, job);
        write_text(screen, "command", answer_text(job, "command"));
        if (*answer_text(value_get(job, "hidden"), "command"))
                sheet_row_write(screen, "command", &(Style){ STYLE_DIM },
                                answer_text(value_get(job, "hidden"), "command"));
        write_where(screen, job, sheet.on);
        report_write_time(screen, job, answer_time(job, "begin_ms"), answer_time(job, "end_ms"),
                          strcmp(answer_text(job, "state"), "running") == 0 ? answer_time(sheet.on, "time_ms") : 0);
        write_isolation(screen, job);
        if (!report_has_own(job))
                write_usage(screen, job);
        write_labels(screen, job);
        write_note(screen, answer_text(job, "note"));
}
