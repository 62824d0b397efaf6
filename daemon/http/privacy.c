/* SPDX-License-Identifier: Apache-2.0 */
#include "http/privacy.h"

#include <string.h>
#include <unistd.h>

Viewer privacy_viewer(Privacy privacy, const Caller *caller) {
        Viewer viewer = { .has_uid = caller->owner.type == OWNER_USER, .uid = caller->owner.uid };

        viewer.sees_all = privacy == PRIVACY_ALL || caller->owner.is_admin ||
                          (viewer.has_uid && viewer.uid != 0 && viewer.uid == geteuid());
        return viewer;
}

bool privacy_may_see(const Viewer *viewer, uint32_t uid) {
        return viewer->sees_all || (viewer->has_uid && viewer->uid == uid);
}

void privacy_put_hidden(Json *json, const char *name) {
        json_put_object_begin(json, "hidden");
        if (name)
                json_put_string(json, name, PRIVACY_REASON);
        json_object_end(json);
}

/* Members of a run, or of an object in the run, that reveal as much as a command line. */
typedef struct PrivateMember {
        const char *object; /* NULL: the run itself */
        const char *key, *name;
} PrivateMember;

static const PrivateMember private_members[] = {
        { NULL, "environment", "run.environment" },
        { NULL, "stderr", "run.stderr" },
        { NULL, "directory", "run.directory" },
        { "script", "origin", "run.script.origin" },
};

static bool is_text(JsonText string, const char *text) {
        return json_text_is_string(string, text, strlen(text));
}

static bool is_private(const char *object, JsonText key) {
        for (size_t i = 0; i < N_ELEMENTS(private_members); i++)
                if (private_members[i].object == object && is_text(key, private_members[i].key))
                        return true;
        return false;
}

/* The member with private members of its own; NULL for all others. */
static const char *find_object(JsonText key) {
        for (size_t i = 0; i < N_ELEMENTS(private_members); i++)
                if (private_members[i].object && is_text(key, private_members[i].object))
                        return private_members[i].object;
        return NULL;
}

static void put_public(Json *json, JsonText text, const char *object) {
        JsonWalk walk = json_text_walk(text);
        JsonText key, value;

        json_object_begin(json);
        while (walk.is_object && json_text_walk_next(&walk, &key, &value)) {
                scoped(buffer_deinit) Buffer name = {};
                const char *inside = object ? NULL : find_object(key);

                if (is_private(object, key))
                        continue;
                json_text_decode(key, &name);
                json_key(json, name.text ?: "");
                if (inside)
                        put_public(json, value, inside);
                else
                        json_text_write(value, json);
        }
        json_object_end(json);
}

void privacy_put_run(Json *json, JsonText run) {
        json_key(json, "run");
        put_public(json, run, NULL);
        json_put_object_begin(json, "hidden");
        for (size_t i = 0; i < N_ELEMENTS(private_members); i++) {
                const PrivateMember *member = &private_members[i];

                if (json_text_find(member->object ? json_text_find(run, member->object) : run, member->key).text)
                        json_put_string(json, member->name, PRIVACY_REASON);
        }
        json_object_end(json);
}
