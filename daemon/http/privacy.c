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

void privacy_put_hidden(Json *json, const char *first, const char *second) {
        json_put_object_begin(json, "hidden");
        if (first)
                json_put_string(json, first, PRIVACY_REASON);
        if (second)
                json_put_string(json, second, PRIVACY_REASON);
        json_object_end(json);
}

static bool is_private(JsonText key) {
        return json_text_is_string(key, "stderr", strlen("stderr")) || json_text_is_string(key, "environment", strlen("environment"));
}

void privacy_put_run(Json *json, JsonText run) {
        JsonWalk walk = json_text_walk(run);
        JsonText key, value;

        json_object_begin(json);
        while (walk.is_object && json_text_walk_next(&walk, &key, &value)) {
                scoped(buffer_deinit) Buffer name = {};

                if (is_private(key))
                        continue;
                json_text_decode(key, &name);
                json_key(json, name.text ?: "");
                json_text_write(value, json);
        }
        json_object_end(json);
}
