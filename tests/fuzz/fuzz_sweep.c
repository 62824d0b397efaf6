/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: files for `perfctl sweep`
 *
 * An accepted file has points whose directories stay below the output directory and whose settings.yaml is read back
 * as the same point. A refused file must have an error message.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/sweep/sweep_plan.h"
#include "client/sweep/sweep_tree.h"
#include "text/yaml.h"
#include "util/scoped.h"
#include "util/utf8.h"

#define TEXT_MAX 16384U
#define POINTS_MAX 20U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_directory(const SweepPlan *plan, size_t number) {
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._=+,@%:-";
        scoped(buffer_deinit) Buffer name = {};

        sweep_tree_put_directory(&name, plan, &plan->points[number], number);
        assert(buffer_error(&name) == 0);
        assert(name.n > 0 && name.n <= SWEEP_DIRECTORY_MAX && strspn(name.text, plain) == name.n &&
               name.text[0] != '.');
        assert(!strstr(name.text, ".."));
}

static void check_settings(const SweepPlan *plan, const SweepPoint *point) {
        scoped(buffer_deinit) Buffer settings = {}, once = {}, again = {};
        scoped(arena_deinit) Arena arena = {};
        const Value *value;
        Member all[SWEEP_SETTINGS_MAX];
        YamlError error;
        const Value of_point = sweep_plan_settings(plan, point, all);

        for (size_t i = 0; i < of_point.n_members; i++)
                sweep_text_put_yaml(&settings, of_point.members[i].key, &of_point.members[i].value);
        assert(buffer_error(&settings) == 0);
        assert(arena_init(&arena, yaml_arena_size(settings.n)) == 0);
        assert(yaml_read(settings.text, settings.n, &arena, &value, &error) == 0);
        assert(sweep_text_identify(&of_point, &once) == 0);
        assert(sweep_text_identify(value, &again) == 0);
        assert(once.n == again.n && memcmp(once.text, again.text, once.n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        scoped(sweep_plan_deinit) SweepPlan plan = {};
        scoped(arena_deinit) Arena arena = {};
        const Value *file;
        SweepError sweep_error;
        YamlError error;
        int r;

        if (size > TEXT_MAX)
                return 0;
        assert(arena_init(&arena, yaml_arena_size(size) + sweep_plan_arena_size(size)) == 0);
        if (yaml_read((const char *)data, size, &arena, &file, &error) != 0)
                return 0;

        r = sweep_plan_read(file, NULL, &arena, &plan, &sweep_error);
        assert(r == 0 || r == SWEEP_WRONG);
        if (r != 0) {
                assert(sweep_error.text[0] && utf8_is_valid(sweep_error.text, strlen(sweep_error.text)));
                return 0;
        }

        assert(plan.n_points <= SWEEP_POINTS_MAX);
        for (size_t i = 0; i < plan.n_points && i < POINTS_MAX; i++) {
                check_directory(&plan, i);
                check_settings(&plan, &plan.points[i]);
        }
        return 0;
}
