/* SPDX-License-Identifier: Apache-2.0 */
#include "http/privacy.h"

#include <string.h>
#include <unistd.h>

Viewer privacy_viewer(Privacy privacy, const Caller *caller) {
        bool is_private = privacy == PRIVACY_PRIVATE;
        /* a proxy's connection over TCP has the user of the proxy */
        bool is_known = caller->owner.type == OWNER_USER && (caller->is_local || !is_private);
        Viewer viewer = { .has_uid = is_known, .uid = is_known ? caller->owner.uid : 0 };

        viewer.sees_all = privacy == PRIVACY_ALL || caller->owner.is_admin ||
                          (viewer.has_uid && !caller->is_forwarded && viewer.uid != 0 && viewer.uid == geteuid());
        viewer.hides_others = is_private && !viewer.sees_all;
        viewer.hides_names = viewer.hides_others;
        return viewer;
}

bool privacy_may_see(const Viewer *viewer, uint32_t uid) {
        return viewer->sees_all || (viewer->has_uid && viewer->uid == uid);
}

bool privacy_may_list(const Viewer *viewer, uint32_t uid) {
        return !viewer->hides_others || privacy_may_see(viewer, uid);
}

void privacy_put_hidden(Json *json, const char *name) {
        json_put_object_begin(json, "hidden");
        if (name)
                json_put_string(json, name, PRIVACY_REASON);
        json_object_end(json);
}

/* Members of a run, or of an object in the run, that everyone may see; clients may send others, which may be
 * anything. */
typedef struct PublicMember {
        const char *object; /* NULL: the run itself */
        const char *key;
} PublicMember;

static const PublicMember public_members[] = {
        { NULL, "begin" },          { NULL, "end" },        { NULL, "wall_seconds" }, { NULL, "oom_kills" },
        { NULL, "rusage" },         { NULL, "stderr_cut" }, { NULL, "script" },       { "script", "sha256" },
        { "script", "origin_cut" }, { NULL, "host" },       { "host", "hostname" },   { "host", "memory_bytes" },
        { "host", "numa_nodes" },   { "host", "smt" },      { "host", "governor" },   { "host", "cpu" },
        { "host", "gpus" },         { NULL, "os" },         { "os", "id" },           { "os", "version" },
        { "os", "name" },           { NULL, "kernel" },     { NULL, "runtime" },      { "runtime", "python" },
        { "runtime", "gcc" },       { "runtime", "cuda" },  { NULL, "labels" },       { NULL, "inspection" },
        { NULL, "specification" },
};

static bool is_text(JsonText string, const char *text) {
        return json_text_is_string(string, text, strlen(text));
}

static bool is_public(const char *object, JsonText key) {
        for (size_t i = 0; i < N_ELEMENTS(public_members); i++) {
                const PublicMember *member = &public_members[i];

                if ((object ? member->object && strcmp(member->object, object) == 0 : !member->object) &&
                    is_text(key, member->key))
                        return true;
        }
        return false;
}

/* The member whose own members are listed; NULL for all others. */
static const char *find_object(JsonText key) {
        for (size_t i = 0; i < N_ELEMENTS(public_members); i++)
                if (public_members[i].object && is_text(key, public_members[i].object))
                        return public_members[i].object;
        return NULL;
}

#define HIDDEN_BYTES_MAX 4096U /* of the names of hidden members with their reasons; further ones are not named */

/* Writes the members that everyone may see, and into `hidden` the names of the others. */
static void put_public(Json *json, JsonText text, const char *object, Json *hidden) {
        JsonWalk walk = json_text_walk(text);
        JsonText key, value;

        json_object_begin(json);
        while (walk.is_object && json_text_walk_next(&walk, &key, &value)) {
                scoped(buffer_deinit) Buffer name = {}, path = {};
                const char *inside = object ? NULL : find_object(key);

                json_text_decode(key, &name);
                buffer_printf(&path, "\"run.%s%s%s", object ?: "", object ? "." : "", name.text ?: "");
                if (!is_public(object, key)) {
                        if (path.text && hidden->out->n < HIDDEN_BYTES_MAX &&
                            !strstr(hidden->out->text ?: "", path.text))
                                json_put_string(hidden, path.text + 1, PRIVACY_REASON);
                        continue;
                }
                json_key(json, name.text ?: "");
                if (inside)
                        put_public(json, value, inside, hidden);
                else
                        json_text_write(value, json);
        }
        json_object_end(json);
}

void privacy_put_run(Json *json, JsonText run) {
        scoped(buffer_deinit) Buffer text = {};
        Json hidden = { .out = &text };

        json_object_begin(&hidden);
        json_key(json, "run");
        put_public(json, run, NULL, &hidden);
        json_object_end(&hidden);
        json_key(json, "hidden");
        json_text_write(json_text(text.text ?: "{}", text.text ? text.n : 2), json);
}
