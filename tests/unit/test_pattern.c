/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "sample/detection/pattern.h"
#include "util/clock.h"

static Pattern parsed(const char *text) {
        char error[PATTERN_ERROR_MAX];
        const char *p = text;
        Pattern pattern;

        assert_int_equal(pattern_next(text, &p, &pattern, error), 0);
        assert_int_equal(*p, '\0');
        return pattern;
}

/*
 * Returns the job in a path, with node and uid if present: "42", "42@cn1", "42 of 1000"; "-" if the path is not a
 * job.
 */
static const char *job_of(const char *text, const char *path) {
        static char said[2 * JOB_ID_MAX + 16];
        Pattern pattern = parsed(text);
        PatternMatch match;

        if (pattern_match(&pattern, path, &match) != 0)
                return "-";
        (void)snprintf(said, sizeof(said), "%s%s%s", match.job, match.node[0] ? "@" : "", match.node);
        if (match.has_uid)
                (void)snprintf(said + strlen(said), sizeof(said) - strlen(said), " of %u", match.uid);
        return said;
}

static void assert_wrong(const char *text, const char *expected) {
        char error[PATTERN_ERROR_MAX] = "";

        assert_int_equal(pattern_check(text, error), PATTERN_INVALID);
        assert_string_equal(error, expected);
}

/* --- matching ----------------------------------------------------------------------------------- */

static void text_matches_itself_only(void **state) {
        (void)state;
        assert_string_equal(job_of("/jobs/job_{job}", "/jobs/job_42"), "42");
        assert_string_equal(job_of("/jobs/job_{job}", "/jobs/job_"), "-");
        assert_string_equal(job_of("/jobs/job_{job}", "/jobs/Job_42"), "-");
        assert_string_equal(job_of("/jobs/job_{job}", "/job/job_42"), "-");
        assert_string_equal(job_of("/jobs/job_{job}", "/a/jobs/job_42"), "-");
        assert_string_equal(job_of("/jobs/job_{job}", "/jobs"), "-");
        assert_string_equal(job_of("/jobs/job_{job}", "/"), "-");
        assert_string_equal(job_of("/jobs/job_{job}", ""), "-");
        assert_string_equal(job_of("/jobs/job_{job}", "jobs/job_42"), "-");
}

static void groups_below_a_job_belong_to_the_job(void **state) {
        Pattern pattern = parsed("/jobs/job_{job}");
        PatternMatch match;

        (void)state;
        assert_int_equal(pattern_match(&pattern, "/jobs/job_42/step_0/job_7", &match), 0);
        assert_string_equal(match.job, "42");
        assert_int_equal(match.n_path, strlen("/jobs/job_42"));
}

static void a_star_is_any_text_within_a_name(void **state) {
        (void)state;
        assert_string_equal(job_of("/a*/{job}", "/a/1"), "1");
        assert_string_equal(job_of("/a*/{job}", "/abc/1"), "1");
        assert_string_equal(job_of("/a*/{job}", "/b/1"), "-");
        assert_string_equal(job_of("/a*c/{job}", "/acbc/1"), "1");
        assert_string_equal(job_of("/a*c/{job}", "/acb/1"), "-");
        assert_string_equal(job_of("/*/{job}", "/a/b/1"), "b");
}

static void wildcards_take_as_little_as_they_can(void **state) {
        (void)state;
        assert_string_equal(job_of("/{job}-*", "/a-b-c"), "a");
        assert_string_equal(job_of("/*-{job}", "/a-b-c"), "b-c");
        assert_string_equal(job_of("/{job}.scope", "/a.scope.scope"), "a.scope");
        assert_string_equal(job_of("/*pod{job}.slice", "/kubepods-besteffort-pod1.slice"), "s-besteffort-pod1");
        assert_string_equal(job_of("/kubepods-*pod{job}.slice", "/kubepods-besteffort-pod1.slice"), "1");
        assert_string_equal(job_of("/kubepods-*pod{job}.slice", "/kubepods-pod1.slice"), "1");
}

static void two_stars_are_any_number_of_names(void **state) {
        (void)state;
        assert_string_equal(job_of("/**/pod{job}", "/pod1"), "1");
        assert_string_equal(job_of("/**/pod{job}", "/a/b/c/pod1/x"), "1");
        assert_string_equal(job_of("/k/**/pod{job}", "/k/pod1"), "1");
        assert_string_equal(job_of("/k/**/pod{job}", "/a/pod1"), "-");
        assert_string_equal(job_of("/**/u/**/{job}", "/a/u/b"), "b");
        assert_string_equal(job_of("/**/**/x{job}", "/a/x1"), "1");
        assert_string_equal(job_of("/**/uid_{uid}/**/j{job}", "/uid_1/uid_2/j3"), "3 of 2");
        assert_string_equal(job_of("/**/uid_{uid}/**/j{job}", "/uid_1/a/b/j3"), "3 of 1");
}

static void a_job_id_is_made_valid(void **state) {
        char path[400] = "/";

        (void)state;
        assert_string_equal(job_of("/{job}", "/a b@c\\x2d\xc3\xa4"), "a_b_c_x2d__");
        assert_string_equal(job_of("/{job}", "/Az09_.:-"), "Az09_.:-");

        memset(path + 1, 'j', 128);
        assert_string_equal(job_of("/{job}", path), path + 1);
        memset(path + 1, 'j', 129);
        assert_string_equal(job_of("/{job}", path), "-");
        memset(path + 1, 'j', 390);
        assert_string_equal(job_of("/{job}", path), "-");
}

static void a_sluid_is_s_and_13_characters_of_base_32(void **state) {
        Pattern pattern = parsed("/{sluid}");
        PatternMatch match;

        (void)state;
        assert_int_equal(pattern_match(&pattern, "/s5K1KKYAYG5D00", &match), 0);
        assert_true(match.is_sluid);
        assert_string_equal(match.job, "s5K1KKYAYG5D00");
        assert_string_equal(job_of("/{sluid}", "/s5k1kkyayg5d00"), "s5k1kkyayg5d00");
        assert_string_equal(job_of("/{sluid}", "/sZZZZZZZZZZZZZ"), "sZZZZZZZZZZZZZ");
        assert_string_equal(job_of("/{sluid}", "/S5K1KKYAYG5D00"), "-");
        assert_string_equal(job_of("/{sluid}", "/s5K1KKYAYG5D0"), "-");
        assert_string_equal(job_of("/{sluid}", "/s5K1KKYAYG5D000"), "-");
        for (const char *no = "ILOUilou-_"; *no; no++) {
                char path[] = "/s5K1KKYAYG5D00";

                path[7] = *no;
                assert_string_equal(job_of("/{sluid}", path), "-");
        }
}

static void a_uid_is_digits_that_fit(void **state) {
        (void)state;
        assert_string_equal(job_of("/u{uid}/{job}", "/u1000/1"), "1 of 1000");
        assert_string_equal(job_of("/u{uid}/{job}", "/u4294967295/1"), "1 of 4294967295");
        assert_string_equal(job_of("/u{uid}/{job}", "/u4294967296/1"), "-");
        assert_string_equal(job_of("/u{uid}/{job}", "/u99999999999999999999999999/1"), "-");
        assert_string_equal(job_of("/u{uid}/{job}", "/u/1"), "-");
        assert_string_equal(job_of("/u{uid}/{job}", "/u-1/1"), "-");
        assert_string_equal(job_of("/u{uid}/{job}", "/u10a/1"), "-");
}

static void a_node_is_optional_and_loses_its_separator(void **state) {
        static const char v2[] = "/s/{node}slurmstepd.scope/job_{job}", v1[] = "/slurm{node}/job_{job}";

        (void)state;
        assert_string_equal(job_of(v2, "/s/slurmstepd.scope/job_1"), "1");
        assert_string_equal(job_of(v2, "/s/cn1_slurmstepd.scope/job_1"), "1@cn1");
        assert_string_equal(job_of(v2, "/s/_slurmstepd.scope/job_1"), "1");
        assert_string_equal(job_of(v2, "/s/c_n_1_slurmstepd.scope/job_1"), "1@c_n_1");
        assert_string_equal(job_of(v1, "/slurm/job_1"), "1");
        assert_string_equal(job_of(v1, "/slurm_cn1/job_1"), "1@cn1");
}

/* The examples in the manual and in the sample configuration. */
static void examples_match_what_they_are_for(void **state) {
        (void)state;
        assert_string_equal(job_of("/system.slice/run-{job}.scope", "/system.slice/run-u42.scope"), "u42");
        assert_string_equal(job_of("/system.slice/run-{job}.scope", "/system.slice/session-1.scope"), "-");
        assert_string_equal(job_of("/batch.slice/{job}.service", "/batch.slice/nightly@3.service/sub"), "nightly_3");
        assert_string_equal(job_of("/pbs_jobs.service/jobid/{job}", "/pbs_jobs.service/jobid/17.pbs"), "17.pbs");
        assert_string_equal(job_of("/lsf/*/job.{job}", "/lsf/cluster/job.101.2041.1792000000"), "101.2041.1792000000");
}

/* --- matching level by level -------------------------------------------------------------------- */

static void a_walk_knows_which_directories_may_contain_jobs(void **state) {
        Pattern pattern = parsed("/k/**/pod{job}");
        PatternStates root = pattern_begin(&pattern), k, besteffort, pod;

        (void)state;
        assert_true(root && !pattern_is_match(&pattern, root));
        assert_false(pattern_expects_job(&pattern, root));
        assert_int_equal(pattern_step(&pattern, root, "system.slice"), 0);
        k = pattern_step(&pattern, root, "k");
        assert_true(k && pattern_expects_job(&pattern, k) && !pattern_is_match(&pattern, k));
        besteffort = pattern_step(&pattern, k, "besteffort");
        assert_true(besteffort && !pattern_is_match(&pattern, besteffort));
        pod = pattern_step(&pattern, besteffort, "pod1");
        assert_true(pattern_is_match(&pattern, pod));
}

/* All ways to match are followed at the same time, not one after the other. */
static void ambiguous_patterns_take_no_longer(void **state) {
        char path[1 << 16] = "", name[256] = "";
        Pattern names = parsed("/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b{job}");
        Pattern stars = parsed("/*a*a*a*a*a*a{job}b");
        uint64_t begin_ns = clock_thread_cpu_ns();
        PatternMatch match;

        (void)state;
        for (size_t i = 0; i + 1 < sizeof(path); i++)
                path[i] = "/a"[i % 2];
        memset(name, 'a', sizeof(name) - 1);
        name[0] = '/';
        for (int i = 0; i < 100; i++) {
                assert_int_equal(pattern_match(&names, path, &match), PATTERN_NO_MATCH);
                assert_int_equal(pattern_match(&stars, name, &match), PATTERN_NO_MATCH);
        }
        assert_true(clock_thread_cpu_ns() - begin_ns < 5 * NS_PER_S);
}

/* --- invalid patterns --------------------------------------------------------------------------- */

static void an_error_is_reported_with_its_position(void **state) {
        (void)state;
        assert_wrong("job_{job}", "character 1: expected / at the start of a pattern");
        assert_wrong("/a//{job}", "character 4: expected a name after the /");
        assert_wrong("/{job}/", "character 8: expected a name after the /");
        assert_wrong("/a/../{job}", "character 4: a cgroup path has no . or ..");
        assert_wrong("/./{job}", "character 2: a cgroup path has no . or ..");
        assert_wrong("/a/{jobb}", "character 4: expected {job}, {sluid}, {uid} or {node}");
        assert_wrong("/a/{job", "character 4: expected {job}, {sluid}, {uid} or {node}");
        assert_wrong("/a/job}", "character 7: } without {");
        assert_wrong("/{uid}/{uid}/{job}",
                     "character 8: each of {job}, {sluid}, {uid} and {node} may be used once in a pattern");
        assert_wrong("/{job}/{sluid}", "character 8: a pattern has {job} or {sluid}, not both");
        assert_wrong("/a*{job}",
                     "character 4: expected text between two placeholders, to tell where the first one ends");
        assert_wrong("/a**/{job}",
                     "character 4: expected text between two placeholders, to tell where the first one ends");
        assert_wrong("/{job}/**", "character 10: expected a name after **: that of the job's cgroup");
        assert_wrong("/a/b", "character 5: expected {job} or {sluid} in the pattern that ends here");
        assert_wrong("/ok/{job}  /a/b", "character 16: expected {job} or {sluid} in the pattern that ends here");
        assert_wrong("/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/{job}",
                     "character 50: too many names in a pattern");
        assert_wrong("/*a*a*a*a*a*a*a*a/{job}", "character 17: too many * and {…} in a pattern");
}

static void a_pattern_that_is_too_long_is_refused(void **state) {
        char text[PATTERN_TEXT_MAX + 1] = "/{job}";

        (void)state;
        memset(text + 6, 'a', sizeof(text) - 7);
        text[sizeof(text) - 1] = '\0';
        assert_wrong(text, "character 1: this pattern is too long");
}

static void a_text_has_any_number_of_patterns(void **state) {
        const char *text = "  /a/{job}\t/b/{job} ", *p = text;
        char error[PATTERN_ERROR_MAX];
        Pattern pattern;

        (void)state;
        assert_int_equal(pattern_check("", error), 0);
        assert_int_equal(pattern_check("  ", error), 0);
        assert_int_equal(pattern_check(text, error), 0);
        assert_int_equal(pattern_next(text, &p, &pattern, error), 0);
        assert_string_equal(pattern.text, "/a/{job}");
        assert_int_equal(pattern_next(text, &p, &pattern, error), 0);
        assert_string_equal(pattern.text, "/b/{job}");
        assert_int_equal(pattern_next(text, &p, &pattern, error), PATTERN_END);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(text_matches_itself_only),
                cmocka_unit_test(groups_below_a_job_belong_to_the_job),
                cmocka_unit_test(a_star_is_any_text_within_a_name),
                cmocka_unit_test(wildcards_take_as_little_as_they_can),
                cmocka_unit_test(two_stars_are_any_number_of_names),
                cmocka_unit_test(a_job_id_is_made_valid),
                cmocka_unit_test(a_sluid_is_s_and_13_characters_of_base_32),
                cmocka_unit_test(a_uid_is_digits_that_fit),
                cmocka_unit_test(a_node_is_optional_and_loses_its_separator),
                cmocka_unit_test(examples_match_what_they_are_for),
                cmocka_unit_test(a_walk_knows_which_directories_may_contain_jobs),
                cmocka_unit_test(ambiguous_patterns_take_no_longer),
                cmocka_unit_test(an_error_is_reported_with_its_position),
                cmocka_unit_test(a_pattern_that_is_too_long_is_refused),
                cmocka_unit_test(a_text_has_any_number_of_patterns),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
