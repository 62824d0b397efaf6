#include "client/report.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "client/question.h"
#include "util/clock.h"
#include "util/scoped.h"

#define LABEL_COLUMNS 22U
#define VALUE_COLUMNS 10U
#define BAR_COLUMNS_MAX 40U

/* --- what ran ------------------------------------------------------------------------------------- */

static void write_state(Screen *screen, const Value *job) {
        const char *state = text_get(job, "state");
        const Value *exit = value_get(job, "exit");
        int64_t status = 0, signal = 0;
        char text[TEXT_MAX];
        bool is_good;

        if (!value_get_int(exit, "status", &status)) {
                screen_styled(screen, strcmp(state, "running") == 0 ? STYLE_GOOD : STYLE_WARN, state);
                return;
        }

        (void)value_get_int(exit, "signal", &signal);
        is_good = status == 0 && signal == 0;
        if (signal > 0 && signal < NSIG && sigdescr_np((int)signal))
                snprintf(text, sizeof(text), "%s: %s", state, sigdescr_np((int)signal));
        else
                snprintf(text, sizeof(text), "%s: exit %jd", state, (intmax_t)status);
        screen_styled(screen, is_good ? STYLE_GOOD : STYLE_BAD, text);
}

static void write_title(Screen *screen, const Value *job) {
        const char *name = text_get(job, "name");

        screen_style_begin(screen, STYLE_BOLD);
        buffer_puts(screen->out, "Job ");
        (void)screen_text(screen, text_get(job, "id"));
        if (*name) {
                buffer_puts(screen->out, " (");
                (void)screen_text_cut(screen, name, 40);
                buffer_putc(screen->out, ')');
        }
        screen_style_end(screen);

        buffer_puts(screen->out, "  ");
        write_state(screen, job);
        buffer_putc(screen->out, '\n');
}

static void field_begin(Screen *screen, const char *label) {
        buffer_puts(screen->out, "  ");
        screen_style_begin(screen, STYLE_DIM);
        buffer_printf(screen->out, "%-10s", label);
        screen_style_end(screen);
}

static void write_command(Screen *screen, const Value *job) {
        const char *command = text_get(job, "command");

        if (!*command)
                return;

        field_begin(screen, "command");
        (void)screen_text_cut(screen, command, screen->width > 20 ? screen->width - 12 : 8);
        buffer_putc(screen->out, '\n');
}

static void write_where(Screen *screen, const Value *job, const Value *node) {
        const char *user = text_get(job, "user"), *host = text_get(node, "hostname");
        int64_t rank, pid, cpus, uid = 0;

        field_begin(screen, "where");
        (void)screen_text(screen, *host ? host : "this node");
        if (value_get_int(node, "cpus", &cpus) && cpus > 0)
                buffer_printf(screen->out, ", %jd CPUs", (intmax_t)cpus);
        if (value_get_int(job, "rank", &rank))
                buffer_printf(screen->out, ", rank %jd", (intmax_t)rank);
        if (value_get_int(job, "pid", &pid) && pid > 0)
                buffer_printf(screen->out, ", process %jd", (intmax_t)pid);

        (void)value_get_int(job, "uid", &uid);
        buffer_puts(screen->out, ", by ");
        if (*user)
                (void)screen_text(screen, user);
        else
                buffer_printf(screen->out, "user %jd", (intmax_t)uid);
        buffer_putc(screen->out, '\n');
}

static void write_when(Screen *screen, const Value *job, const Value *node) {
        uint64_t begin_ms = time_get(job, "begin_ms"), end_ms = time_get(job, "end_ms"), now_ms = time_get(node, "time_ms");
        char from[TEXT_MAX], to[TEXT_MAX], duration[TEXT_MAX] = "";

        text_time(begin_ms, from);
        text_time(end_ms, to);
        if (end_ms == 0)
                end_ms = now_ms;
        if (end_ms >= begin_ms && end_ms > 0)
                text_duration((end_ms - begin_ms) * NS_PER_MS, duration);

        else if (now_ms > 0 && time_get(job, "end_ms") == 0) /* after the last sample */
                strcpy(duration, "just begun,");

        field_begin(screen, "time");
        screen_style_begin(screen, STYLE_BOLD);
        buffer_puts(screen->out, *duration ? duration : "-");
        screen_style_end(screen);
        if (time_get(job, "end_ms") > 0) /* the date only once */
                buffer_printf(screen->out, ", %s to %s\n", from, strncmp(from, to, 11) == 0 ? to + 11 : to);
        else
                buffer_printf(screen->out, " since %s\n", from);
}

static void write_usage(Screen *screen, const Value *job) {
        const Value *rusage = value_get(job, "rusage");
        char user[TEXT_MAX], system[TEXT_MAX], memory[TEXT_MAX];

        if (!rusage || rusage->type != VALUE_OBJECT)
                return;

        text_seconds(number_get(rusage, "ru_utime"), user);
        text_seconds(number_get(rusage, "ru_stime"), system);
        text_mib(number_get(rusage, "ru_maxrss") / 1024, memory);
        field_begin(screen, "itself");
        buffer_printf(screen->out, "CPU %s user, %s system; largest process %s\n", user, system, memory);
}

static void write_labels(Screen *screen, const Value *job) {
        const Value *labels = value_get(job, "labels");

        if (!labels || labels->type != VALUE_OBJECT || labels->n_members == 0)
                return;

        field_begin(screen, "labels");
        for (size_t i = 0; i < labels->n_members; i++) {
                const Value *value = &labels->members[i].value;

                buffer_puts(screen->out, i > 0 ? " " : "");
                (void)screen_text(screen, labels->members[i].key);
                buffer_putc(screen->out, '=');
                (void)screen_text(screen, value->type == VALUE_STRING ? value->string : "");
        }
        buffer_putc(screen->out, '\n');
}

static void write_note(Screen *screen, const Value *job) {
        const char *note = text_get(job, "note");

        if (!*note)
                return;

        field_begin(screen, "note");
        screen_styled(screen, STYLE_WARN, note);
        buffer_putc(screen->out, '\n');
}

void report_write_head(Screen *screen, const Value *job, const Value *node) {
        write_title(screen, job);
        write_command(screen, job);
        write_where(screen, job, node);
        write_when(screen, job, node);
        write_usage(screen, job);
        write_labels(screen, job);
        write_note(screen, job);
}

/* --- its numbers ---------------------------------------------------------------------------------- */

typedef struct Line {
        const char *label;
        const char *key;
} Line;

static const Line cpu_lines[] = {
        { "mean", "cpu_avg_utilization_pct" },
        { "peak", "max_t_cpu_pct_per_cpu_avg" },
        { "peak, busiest CPU", "max_t_cpu_pct_per_cpu_max" },
        { "peak, idlest CPU", "max_t_cpu_pct_per_cpu_min" },
        { "time over 20 %", "cpu_avg_utilization_over20_pct" },
        { "time over 40 %", "cpu_avg_utilization_over40_pct" },
        { "time over 80 %", "cpu_avg_utilization_over80_pct" },
        { "time at 100 %", "cpu_avg_utilization_at100_pct" },
};

static const Line room_lines[] = {
        { "memory, peak", "max_t_mem_percent" },
        { "file system /, peak", "max_t_disk_usage_percent" },
};

/* Two numbers of one kind on a line. */
static const struct {
        const char *label;
        const char *words[2];
        const char *keys[2];
} pair_lines[] = {
        { "CPU time", { "available", "unused" }, { "node_cpu_hours", "node_unused_cpu_hours" } },
        { "disks", { "read", "written" }, { "total_disk_io_read_mb", "total_disk_io_write_mb" } },
        { "network", { "received", "sent" }, { "total_net_io_ext_recv_mb", "total_net_io_ext_sent_mb" } },
        { "loopback", { "received", "sent" }, { "total_net_io_lo_recv_mb", "total_net_io_lo_sent_mb" } },
};

static const char *absence(const Value *job, const char *key) {
        const Value *absent = value_get(job, "absent");

        for (size_t i = 0; absent && absent->type == VALUE_LIST && i < absent->n_items; i++)
                if (strcmp(text_get(&absent->items[i], "key"), key) == 0)
                        return text_get(&absent->items[i], "reason");
        return "not known yet";
}

static size_t bar_columns(const Screen *screen) {
        size_t taken = 2 + LABEL_COLUMNS + 1 + VALUE_COLUMNS + 3;
        size_t n = screen->width > taken ? screen->width - taken : 8;

        return n < BAR_COLUMNS_MAX ? n : BAR_COLUMNS_MAX;
}

/* Returns whether a mark was set. */
static bool put_value(Screen *screen, const MetricValue *value, size_t n_columns) {
        char text[TEXT_MAX];

        metric_value_format(value, text);
        screen_pad(screen, strlen(text), n_columns);
        buffer_puts(screen->out, text);
        screen_styled(screen, STYLE_DIM, value->is_exact ? " " : "~");
        return !value->is_exact;
}

static bool write_bar_line(Screen *screen, const Value *job, const Line *line) {
        MetricValue value;
        bool is_marked;

        buffer_printf(screen->out, "  %-*s ", (int)LABEL_COLUMNS, line->label);
        if (!metric_value_get(job, line->key, &value)) {
                screen_styled(screen, STYLE_DIM, absence(job, line->key));
                buffer_putc(screen->out, '\n');
                return false;
        }

        is_marked = put_value(screen, &value, VALUE_COLUMNS);
        buffer_putc(screen->out, ' ');
        screen_bar(screen, value.value / 100, bar_columns(screen));
        buffer_putc(screen->out, '\n');
        return is_marked;
}

/* A job shorter than the interval has none of these: then one line says so. */
static bool are_all_absent(const Value *job, const Line *lines, size_t n) {
        MetricValue value;

        for (size_t i = 0; i < n; i++)
                if (metric_value_get(job, lines[i].key, &value) || strcmp(absence(job, lines[i].key), absence(job, lines[0].key)) != 0)
                        return false;
        return true;
}

static bool write_bar_lines(Screen *screen, const Value *job, const Line *lines, size_t n) {
        bool is_marked = false;

        if (are_all_absent(job, lines, n)) {
                buffer_puts(screen->out, "  ");
                screen_styled(screen, STYLE_DIM, absence(job, lines[0].key));
                buffer_putc(screen->out, '\n');
                return false;
        }

        for (size_t i = 0; i < n; i++)
                is_marked |= write_bar_line(screen, job, &lines[i]);
        return is_marked;
}

static bool write_pair_line(Screen *screen, const Value *job, size_t i) {
        bool is_marked = false;
        MetricValue value;

        buffer_printf(screen->out, "  %-*s ", (int)LABEL_COLUMNS, pair_lines[i].label);
        for (size_t k = 0; k < 2; k++) {
                const char *key = pair_lines[i].keys[k];

                if (metric_value_get(job, key, &value)) {
                        is_marked |= put_value(screen, &value, VALUE_COLUMNS);
                        buffer_printf(screen->out, "%-10s", pair_lines[i].words[k]);
                } else if (k == 0)
                        screen_styled(screen, STYLE_DIM, absence(job, key));
        }
        while (screen->out->n > 0 && screen->out->text[screen->out->n - 1] == ' ')
                screen->out->n--;
        buffer_putc(screen->out, '\n');
        return is_marked;
}

static void write_legend(Screen *screen, const Value *node) {
        uint64_t interval_ms = time_get(node, "interval_ms");
        char interval[TEXT_MAX] = "", text[2 * TEXT_MAX];

        if (interval_ms > 0)
                text_duration(interval_ms * NS_PER_MS, interval);
        snprintf(text, sizeof(text), "  ~ from samples%s%s; the other numbers are exact", interval_ms > 0 ? " every " : "", interval);
        screen_styled(screen, STYLE_DIM, text);
        buffer_putc(screen->out, '\n');
}

void report_write(Screen *screen, const Value *job, const Value *node) {
        bool is_marked;

        report_write_head(screen, job, node);

        screen_heading(screen, "CPUs of the node meanwhile");
        is_marked = write_bar_lines(screen, job, cpu_lines, N_ELEMENTS(cpu_lines));

        screen_heading(screen, "Memory, disks and network of the node meanwhile");
        is_marked |= write_bar_lines(screen, job, room_lines, N_ELEMENTS(room_lines));
        for (size_t i = 0; i < N_ELEMENTS(pair_lines); i++)
                is_marked |= write_pair_line(screen, job, i);

        if (is_marked)
                write_legend(screen, node);
}
