/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <ini.h>
#include <string.h>

#include "document/indicator_model.h"
#include "setting.h"
#include "text/encoding.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/scan.h"
#include "util/scoped.h"

#define FILE_BYTES_MAX (1024U * 1024U)

#define MS NS_PER_MS
#define S NS_PER_S
#define DAY (86400 * NS_PER_S)
#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define AT(field) offsetof(Config, field), sizeof(((Config *)NULL)->field)
#define CPU_INTERVAL "a time from 50ms to 1s, or 0 for none"
#define PATTERNS "patterns of at most 255 bytes"

/*
 * All settings of perfd.conf, with their locations in the configurations of the subsystems. A reload applies only
 * settings without needs_restart.
 */
static const Setting settings[] = {
        { "sampling", "interval", SETTING_DURATION, AT(node.interval_ns), "1s", 100 * MS, 60 * S, "a time from 100ms to 60s", false },
        { "sampling", "offset", SETTING_DURATION, AT(node.offset_ns), "0", 0, 60 * S, "a time below interval", false },
        { "sampling", "cpu_interval", SETTING_INTERVAL, AT(node.cpu_interval_ns), "0", 50 * MS, S, CPU_INTERVAL, false },
        { "sampling", "job_cpu_interval", SETTING_INTERVAL, AT(node.job_cpu_interval_ns), "50ms", 50 * MS, S, CPU_INTERVAL, false },
        { "sampling", "job_cpu_interval_shared", SETTING_BOOL, AT(node.is_shared_cpu_interval), "no", 0, 1, "yes or no", false },
        { "sampling", "filesystems_interval", SETTING_DURATION, AT(node.filesystems_interval_ns), "10s", S, 3600 * S, "a time from 1s to 1h", true },
        { "socket", "path", SETTING_PATH, AT(sockets.path), "/run/perfd/perfd.sock", 1, 107, "an absolute path of at most 107 bytes", true },
        { "socket", "mode", SETTING_MODE, AT(sockets.mode), "0666", 0, 0777, "an octal mode from 0000 to 0777", true },
        { "socket", "admin_group", SETTING_GROUP, AT(ingest.admin_gid), "", 0, INGEST_NO_ADMIN_GID, "the name or number of an existing group, or empty", false },
        { "http", "listen", SETTING_LISTEN, AT(sockets.http_listen), "127.0.0.1:9847", 0, 0, "ADDRESS:PORT, [IPV6]:PORT or off", false },
        { "http", "socket", SETTING_PATH, AT(sockets.http_path), "", 0, 107, "an absolute path of at most 107 bytes, or empty", true },
        { "http", "threads", SETTING_COUNT, AT(http.n_threads), "2", 1, 16, "a whole number from 1 to 16", true },
        { "http", "timeout", SETTING_DURATION, AT(http.timeout_ns), "15s", S, 3600 * S, "a time from 1s to 1h", true },
        { "http", "privacy", SETTING_CHOICE, AT(http.privacy), "own", PRIVACY_OWN, PRIVACY_PRIVATE, "own, all or private", false },
        { "http", "proxies", SETTING_USERS, AT(http.proxies), "", 0, 0, "USER or @GROUP, separated by blanks, of existing users and groups, at most 1024 users", false },
        { "http", "hosts", SETTING_HOSTS, AT(http.hosts), "", 0, 0, "names of hosts, separated by blanks", true },
        { "http", "query_timeout", SETTING_DURATION, AT(http.query_timeout_ns), "2s", 10 * MS, 60 * S, "a time from 10ms to 60s", true },
        { "store", "directory", SETTING_PATH, AT(store.directory), "/var/lib/perfd", 1, 200, "an absolute path", true },
        { "store", "volatile", SETTING_BOOL, AT(store.is_volatile), "no", 0, 1, "yes or no", true },
        { "store", "max_size", SETTING_SIZE, AT(store.size_max_bytes), "1G", 16 * MIB, UINT64_MAX, "a size of at least 16M", false },
        { "store", "keep_samples", SETTING_DURATION, AT(store.keep_samples_ns), "30d", 0, 36500 * DAY, "a time, or 0 for no limit", false },
        { "store", "keep_minutes", SETTING_DURATION, AT(store.keep_minutes_ns), "365d", 0, 36500 * DAY, "a time, or 0 for no limit", false },
        { "store", "keep_jobs", SETTING_DURATION, AT(store.keep_jobs_ns), "365d", 0, 36500 * DAY, "a time, or 0 for no limit", false },
        { "store", "keep_results", SETTING_DURATION, AT(store.keep_results_ns), "365d", 0, 36500 * DAY, "a time, or 0 for no limit", false },
        { "store", "queue_rows", SETTING_COUNT, AT(store.queue_rows_max), "65536", 16, 1 << 24, "a whole number from 16 to 16777216", false },
        { "store", "queue_size", SETTING_SIZE, AT(store.queue_bytes_max), "32M", MIB, UINT64_C(1) << 32, "a size from 1M to 4G", false },
        { "limits", "frame_size", SETTING_SIZE, AT(ingest.frame_max_bytes), "1M", 4 * KIB, 64 * MIB, "a size from 4K to 64M", false },
        { "limits", "connections", SETTING_COUNT, AT(shares.limits[RESOURCE_CONNECTIONS]), "4096", 2, 100000, "a whole number from 2 to 100000", false },
        { "limits", "input_size", SETTING_SIZE, AT(shares.limits[RESOURCE_INPUT]), "16M", MIB, UINT64_C(1) << 32, "a size from 1M to 4G", false },
        { "limits", "requests", SETTING_SIZE, AT(shares.limits[RESOURCE_REQUESTS]), "8M", MIB, UINT64_C(1) << 32, "a size from 1M to 4G", false },
        { "limits", "http_connections", SETTING_COUNT, AT(shares.limits[RESOURCE_HTTP_CONNECTIONS]), "512", 8, 65536, "a whole number from 8 to 65536", true },
        { "limits", "answers_size", SETTING_SIZE, AT(shares.limits[RESOURCE_ANSWERS]), "32M", 32 * MIB, UINT64_C(1) << 32, "a size from 32M to 4G", false },
        { "limits", "queries", SETTING_COUNT, AT(shares.limits[RESOURCE_QUERIES]), "256", 2, 65536, "a whole number from 2 to 65536", false },
        { "limits", "streams", SETTING_COUNT, AT(shares.limits[RESOURCE_STREAMS]), "64", 2, 4096, "a whole number from 2 to 4096", false },
        { "limits", "models_size", SETTING_SIZE, AT(shares.limits[RESOURCE_MODELS]), "4M", 64 * KIB, UINT64_C(1) << 30, "a size from 64K to 1G", false },
        { "limits", "names", SETTING_COUNT, AT(shares.limits[RESOURCE_NAMES]), "4000000", 8, UINT32_MAX, "a whole number from 8 to 4294967295", false },
        { "limits", "series", SETTING_COUNT, AT(shares.limits[RESOURCE_SERIES]), "4000000", 8, UINT32_MAX, "a whole number from 8 to 4294967295", false },
        { "limits", "weights", SETTING_WEIGHTS, AT(shares.weights), "", 0, 0, "USER=N or @GROUP=N, separated by blanks, of existing users and groups, at most 1024 users, and N from 1 to 1000", false },
        { "limits", "in_flight", SETTING_COUNT, AT(ingest.in_flight_max), "1024", 1, 65536, "a whole number from 1 to 65536", false },
        { "limits", "jobs", SETTING_COUNT, AT(shares.limits[RESOURCE_JOBS]), "2000", 2, 100000, "a whole number from 2 to 100000", false },
        { "limits", "phases", SETTING_COUNT, AT(jobs.phases_max), "1000", 2, 100000, "a whole number from 2 to 100000", false },
        { "limits", "string_size", SETTING_SIZE, AT(ingest.documents.string_bytes), "64K", 256, 16 * MIB, "a size from 256 to 16M", false },
        { "limits", "document_keys", SETTING_COUNT, AT(ingest.documents.n_keys), "65536", 64, 1048576, "a whole number from 64 to 1048576", false },
        { "jobs", "checkpoint_interval", SETTING_DURATION, AT(jobs.checkpoint_interval_ns), "10s", S, 600 * S, "a time from 1s to 10min", false },
        { "jobs", "timeline_points", SETTING_COUNT, AT(jobs.timeline_points), "120", 2, 1000, "an even number from 2 to 1000", false },
        { "jobs", "linger", SETTING_DURATION, AT(jobs.linger_ns), "30s", 0, 86400 * S, "a time of at most 1d", false },
        { "patterns", "slurm", SETTING_PATTERNS_EXCLUSIVE, AT(patterns.slurm), "/*.slice/{node}slurmstepd.scope/job_{job} /{node}slurmstepd.scope/job_{job}", 0, 0, PATTERNS, false },
        { "patterns", "slurm_sluid", SETTING_PATTERNS_EXCLUSIVE, AT(patterns.slurm_sluid), "/*.slice/{node}slurmstepd.scope/{sluid} /{node}slurmstepd.scope/{sluid}", 0, 0, PATTERNS, false },
        { "patterns", "slurm_v1", SETTING_PATTERNS_EXCLUSIVE, AT(patterns.slurm_v1), "/slurm{node}/uid_{uid}/job_{job}", 0, 0, PATTERNS, false },
        { "patterns", "kubernetes", SETTING_PATTERNS, AT(patterns.kubernetes), "/kube*.slice/**/*kube*-pod{job}.slice /kube*/**/pod{job} /docker/*/**/*kube*-pod{job}.slice /docker/*/**/kubepods/**/pod{job} /system.slice/docker-*.scope/**/*kube*-pod{job}.slice", 0, 0, PATTERNS, false },
        { "patterns", "scope", SETTING_PATTERNS, AT(patterns.scope), "", 0, 0, PATTERNS, false },
        { "patterns", "service", SETTING_PATTERNS, AT(patterns.service), "", 0, 0, PATTERNS, false },
        { "patterns", "other", SETTING_PATTERNS, AT(patterns.other), "", 0, 0, PATTERNS, false },
        { "indicators", "directory", SETTING_PATH, AT(indicators.directory), "/etc/perfd/indicators.d", 0, 200, "an absolute path, or empty", false },
        { "indicators", "policy", SETTING_CHOICE, AT(indicators.policy), "accept", MODEL_ACCEPT, MODEL_STRICT, "accept or strict", false },
        { "metrics", "readers", SETTING_USERS, AT(http.readers), "", 0, 0, "USER or @GROUP, separated by blanks, of existing users and groups, at most 1024 users", false },
        { "metrics", "jobs", SETTING_COUNT, AT(jobs.metrics_jobs_max), "60", 0, 10000, "a whole number from 0 to 10000", false },
        { "metrics", "totals_label", SETTING_LABEL, AT(jobs.metrics_totals_label), "", 0, 0, "the key of a label, or empty", false },
        { "metrics", "created", SETTING_BOOL, AT(jobs.metrics_created), "no", 0, 1, "yes or no", false },
        { "metrics", "finished_for", SETTING_DURATION, AT(jobs.metrics_finished_ns), "10min", 0, DAY, "a time of at most 1d", false },
};

void config_defaults(Config *ret) {
        *ret = (Config){};
        for (size_t i = 0; i < N_ELEMENTS(settings); i++) {
                int r = setting_set(&settings[i], ret, settings[i].initial, NULL);

                assert(r == 0);
                (void)r;
        }
}

static const Setting *setting_find(const char *section, const char *key) {
        for (size_t i = 0; i < N_ELEMENTS(settings); i++)
                if (strcmp(settings[i].section, section) == 0 && strcmp(settings[i].key, key) == 0)
                        return &settings[i];
        return NULL;
}

/* Lists the valid names: the sections, or the keys of a section. */
static void complain_unknown(const char *section, const char *key, ConfigError *ret) {
        const char *last = "";
        bool section_exists = false;
        int n;

        for (size_t i = 0; i < N_ELEMENTS(settings); i++)
                section_exists |= strcmp(settings[i].section, section) == 0;

        if (section[0] == '\0')
                n = snprintf(ret->text, sizeof(ret->text), "'%.60s' is outside a section: expected one of", key);
        else if (section_exists)
                n = snprintf(ret->text, sizeof(ret->text), "unknown setting '%.60s' in [%s]: expected one of", key,
                             section);
        else
                n = snprintf(ret->text, sizeof(ret->text), "unknown section [%.60s]: expected one of", section);

        for (size_t i = 0; i < N_ELEMENTS(settings) && n > 0 && (size_t)n < sizeof(ret->text); i++) {
                const char *word = section_exists ? settings[i].key : settings[i].section;

                if (section_exists && strcmp(settings[i].section, section) != 0)
                        continue;
                if (strcmp(word, last) != 0)
                        n += snprintf(ret->text + n, sizeof(ret->text) - (size_t)n, section_exists ? " %s" : " [%s]",
                                      word);
                last = word;
        }
}

static int set_value(Config *config, const char *section, const char *key, const char *text, UserLookup *lookup,
                     ConfigError *ret_error) {
        const Setting *setting = setting_find(section, key);

        if (!setting) {
                complain_unknown(section, key, ret_error);
                return CONFIG_INVALID;
        }
        if (setting_set(setting, config, text, lookup) == 0)
                return 0;

        setting_complain(setting, text, ret_error->text, sizeof(ret_error->text));
        return CONFIG_INVALID;
}

int config_set(Config *config, const char *section, const char *key, const char *text, ConfigError *ret_error) {
        return set_value(config, section, key, text, NULL, ret_error);
}

/* Place at which a setting was set last. */
typedef struct SettingPlace {
        char file[CONFIG_TEXT_MAX];
        unsigned line; /* 0: the setting has its default */
} SettingPlace;

/* Configuration that is being read from several files. */
typedef struct Loading {
        Config config;
        SettingPlace places[N_ELEMENTS(settings)];
        UserLookup *lookup;
} Loading;

/* State of parsing one file. inih does not pass the line number to its handler, so the reader counts lines. */
typedef struct Parse {
        char *rest; /* of the text; NULL at the end */
        Loading *loading;
        ConfigError *error;
        unsigned line;
        bool failed;
} Parse;

/* inih takes only a semicolon behind a value for a comment. */
static void begin_comment(char *line) {
        for (char *p = line; (p = strchr(p + (*p != '\0'), '#'));)
                if (p > line && (p[-1] == ' ' || p[-1] == '\t')) {
                        *p = ';';
                        return;
                }
}

static char *on_line(char *line, int n_max, void *userdata) {
        Parse *parse = userdata;
        const char *next = parse->failed ? NULL : strsep(&parse->rest, "\n");

        if (!next || (!*next && !parse->rest))
                return NULL;
        parse->line++;
        if (strlen(next) > (size_t)n_max - 2) {
                parse->failed = true;
                parse->error->line = parse->line;
                (void)snprintf(parse->error->text, sizeof(parse->error->text), "line is longer than %d bytes",
                               n_max - 2);
                return NULL;
        }

        (void)snprintf(line, (size_t)n_max, "%s\n", next);
        /* inih would treat an indented line as a continuation of the previous line */
        memmove(line, scan_blanks(line), strlen(scan_blanks(line)) + 1);
        begin_comment(line);
        return line;
}

static int parse_setting(Parse *parse, const char *section, const char *key, const char *value) {
        const Setting *setting = setting_find(section, key);
        Loading *loading = parse->loading;
        SettingPlace *place;
        int r;

        if (!setting) {
                complain_unknown(section, key, parse->error);
                return CONFIG_INVALID;
        }
        place = &loading->places[setting - settings];
        if (place->line > 0 && strcmp(place->file, parse->error->file) == 0) {
                (void)snprintf(parse->error->text, sizeof(parse->error->text),
                               "[%s] %s is set twice, first in line %u: remove one", section, key, place->line);
                return CONFIG_INVALID;
        }

        r = set_value(&loading->config, section, key, value, loading->lookup, parse->error);
        if (r != 0)
                return r;
        place->line = parse->line;
        memcpy(place->file, parse->error->file, sizeof(place->file));
        return 0;
}

static int on_setting(void *userdata, const char *section, const char *key, const char *value) {
        Parse *parse = userdata;

        if (!parse->failed && parse_setting(parse, section, key, value) != 0) {
                parse->failed = true;
                parse->error->line = parse->line;
        }

        return 1;
}

static int cannot_read(const char *path, const char *why, ConfigError *ret_error) {
        (void)snprintf(ret_error->file, sizeof(ret_error->file), "%s", path);
        (void)snprintf(ret_error->text, sizeof(ret_error->text), "cannot be read: %s", why);
        ret_error->line = 0;
        return CONFIG_INVALID;
}

/* Checks the text of a file, which a NUL follows, and makes its lines those of this system. */
static int check_text(Buffer *text, ConfigError *ret_error) {
        const char *nul;

        if (encoding_unify(text->text, &text->n) == ENCODING_FOREIGN) {
                ret_error->line = 1;
                (void)snprintf(ret_error->text, sizeof(ret_error->text), ENCODING_FOREIGN_TEXT);
                return CONFIG_INVALID;
        }
        nul = memchr(text->text, '\0', text->n);
        if (!nul)
                return 0;
        ret_error->line = 1;
        for (const char *p = text->text; p < nul; p++)
                ret_error->line += *p == '\n';
        (void)snprintf(ret_error->text, sizeof(ret_error->text), "has a NUL character: is this a text file?");
        return CONFIG_INVALID;
}

static int config_read_file(FILE *file, const char *path, Loading *loading, ConfigError *ret_error) {
        Parse parse = { .loading = loading, .error = ret_error };
        scoped(buffer_deinit) Buffer text = { .n_max = FILE_BYTES_MAX };
        uint64_t hash = config_files_begin(path);
        ssize_t n;
        int line;

        (void)snprintf(ret_error->file, sizeof(ret_error->file), "%s", path);
        buffer_puts(&text, "");
        do
                n = buffer_read(&text, fileno(file));
        while (n > 0 || n == -EINTR);
        if (n < 0)
                return cannot_read(path, error_text((int)-n), ret_error);
        hash = hash_bytes(hash, text.text, text.n);
        if (check_text(&text, ret_error) != 0)
                return CONFIG_INVALID;

        parse.rest = text.text;
        line = ini_parse_stream(on_line, &parse, on_setting, &parse);
        if (parse.failed)
                return CONFIG_INVALID;
        if (line < 0)
                return -ENOMEM;
        if (line > 0) {
                ret_error->line = (unsigned)line;
                (void)snprintf(ret_error->text, sizeof(ret_error->text),
                               "not a setting: expected [section], key = value, or a # comment");
                return CONFIG_INVALID;
        }

        config_files_add(&loading->config.files, hash);
        return 0;
}

static int config_open_and_read(const char *path, bool may_be_absent, Loading *loading, ConfigError *ret_error) {
        scoped(fclosep) FILE *file = NULL;
        char reason[CONFIG_REASON_MAX];

        file = config_files_open(path, reason);
        if (!file && errno == ENOENT && may_be_absent)
                return 0;
        if (!file)
                return cannot_read(path, reason, ret_error);

        return config_read_file(file, path, loading, ret_error);
}

static int config_read_drop_ins(const char *path, Loading *loading, ConfigError *ret_error) {
        char **paths;
        size_t n;
        int r;

        r = config_files_list(path, &paths, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = config_open_and_read(paths[i], false, loading, ret_error);
        config_files_free(paths, n);
        return r;
}

/* Names the line of the setting that the text is about; of the other one if that setting has its default. */
static void blame(const Loading *loading, const char *path, const Setting *own, const Setting *other,
                  ConfigError *ret) {
        const SettingPlace *place = &loading->places[own - settings];

        if (place->line == 0)
                place = &loading->places[other - settings];

        ret->line = place->line;
        (void)snprintf(ret->file, sizeof(ret->file), "%s", place->line > 0 ? place->file : path);
}

/* Checks limits that depend on each other. */
static int config_check(const Loading *loading, const char *path, ConfigError *ret_error) {
        const Setting *own, *other = setting_find("limits", "frame_size");
        const Config *config = &loading->config;
        const char *text;

        if (config->store.queue_bytes_max < config->ingest.frame_max_bytes * 2) {
                own = setting_find("store", "queue_size");
                text = "[store] queue_size must be at least twice [limits] frame_size, or the largest request never "
                       "fits";
        } else if (config->ingest.documents.string_bytes > config->ingest.frame_max_bytes) {
                own = setting_find("limits", "string_size");
                text = "[limits] string_size must not be above frame_size: no request could carry such a string";
        } else if (config->node.offset_ns >= config->node.interval_ns) {
                own = setting_find("sampling", "offset");
                other = setting_find("sampling", "interval");
                text = "[sampling] offset must be below interval: samples are at multiples of interval plus offset";
        } else if (config->jobs.timeline_points % 2 != 0) {
                own = other = setting_find("jobs", "timeline_points");
                text = "[jobs] timeline_points: expected an even number from 2 to 1000";
        } else
                return 0;

        blame(loading, path, own, other, ret_error);
        (void)snprintf(ret_error->text, sizeof(ret_error->text), "%s", text);
        return CONFIG_INVALID;
}

int config_load(const char *path, UserLookup *lookup, Config *ret, ConfigError *ret_error) {
        const char *file = path ? path : CONFIG_DEFAULT_PATH;
        Loading loading = { .lookup = lookup };
        int r;

        config_defaults(&loading.config);
        r = config_open_and_read(file, !path, &loading, ret_error);
        if (r == 0)
                r = config_read_drop_ins(file, &loading, ret_error);
        if (r == 0)
                r = config_check(&loading, file, ret_error);
        if (r != 0)
                return r;

        *ret = loading.config;
        ret->shares.limits[RESOURCE_STORE] = ret->store.size_max_bytes;
        return 0;
}

void config_store_directory(const Config *config, char ret[static CONFIG_TEXT_MAX]) {
        const char *slash = strrchr(config->sockets.path, '/');
        const Setting *directory = setting_find("store", "directory");

        if (config->store.is_volatile && strcmp(config->store.directory, directory->initial) == 0)
                (void)snprintf(ret, CONFIG_TEXT_MAX, "%.*s/volatile", (int)(slash - config->sockets.path),
                               config->sockets.path);
        else
                (void)snprintf(ret, CONFIG_TEXT_MAX, "%s", config->store.directory);
}

size_t config_patterns(const PatternsConfig *config, FinderPattern ret[static CONFIG_PATTERNS_MAX]) {
        size_t n = 0;

        for (const Setting *setting = settings; setting < settings + N_ELEMENTS(settings); setting++) {
                if (!setting_is_patterns(setting))
                        continue;
                assert(n < CONFIG_PATTERNS_MAX);
                ret[n++] = (FinderPattern){
                        .name = setting->key,
                        .text = (const char *)config + setting->offset - offsetof(Config, patterns),
                        .others = setting->type == SETTING_PATTERNS_EXCLUSIVE ? "system" : NULL,
                };
        }
        return n;
}

static bool is_of_sockets(const Setting *setting) {
        return setting->offset >= offsetof(Config, sockets) &&
               setting->offset < offsetof(Config, sockets) + sizeof(SocketsConfig);
}

void config_list_ignored(const Config *config, const SocketsConfig *bound, Buffer *ret) {
        const Config with_bound = { .sockets = *bound };
        Config defaults;

        config_defaults(&defaults);
        for (const Setting *setting = settings; setting < settings + N_ELEMENTS(settings); setting++)
                if (is_of_sockets(setting) && setting->needs_restart && !setting_is_same(setting, config, &defaults) &&
                    !setting_is_same(setting, config, &with_bound))
                        buffer_printf(ret, "%s%s.%s", ret->n > 0 ? ", " : "", setting->section, setting->key);
}

void config_apply(Config *config, const Config *fresh, bool are_sockets_passed, Buffer *ret_restart) {
        for (size_t i = 0; i < N_ELEMENTS(settings); i++) {
                const Setting *setting = &settings[i];

                if (setting_is_same(setting, config, fresh))
                        continue;
                if (!setting->needs_restart)
                        setting_copy(setting, fresh, config);
                else if (!are_sockets_passed || !is_of_sockets(setting))
                        buffer_printf(ret_restart, "%s%s.%s", ret_restart->n > 0 ? ", " : "", setting->section,
                                      setting->key);
        }
        config->shares.limits[RESOURCE_STORE] = config->store.size_max_bytes;
}
