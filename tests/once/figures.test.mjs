/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of the parts of the web page that need no document. */

import assert from "node:assert/strict";
import { readFileSync, mkdtempSync, writeFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

/* Modules of the page have the name of scripts: node takes them for modules by another name. */
const web = fileURLToPath(new URL("../../web/", import.meta.url)), directory = mkdtempSync(join(tmpdir(), "perfd-figures-"));
const load = (name) => {
        const copy = join(directory, `${name.replace("/", "-")}.mjs`);

        writeFileSync(copy, readFileSync(join(web, `${name}.js`)));
        return import(pathToFileURL(copy));
};

after(() => rmSync(directory, { recursive: true }));
const { bands, box, categories, extent, linear, ticks, timeTicks } = await load("figures/scale");
const { clock, cut, failure, plain } = await load("app/format");
const { conditions, entriesOf, plotOf, select, valueOf, varying } = await load("report/plots");

test("ticks are round and within the range", () => {
        assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
        assert.deepEqual(ticks(0.1, 0.35, 4), [0.1, 0.2, 0.3]);
        assert.deepEqual(ticks(0, 3000, 3, "bytes"), [0, 1024, 2048]);
        assert.deepEqual(ticks(-3, 3, 3), [-2, 0, 2]);
        assert.deepEqual(ticks(5, 5, 4), [5]);
        assert.equal(ticks(1e-12, 1e12, 5).length < 12, true);
});

test("times on an axis are whole ones of the local clock, and differ", () => {
        const at = (...parts) => new Date(2026, 2, 9, ...parts).getTime();

        assert.deepEqual(timeTicks(at(3, 0, 1), at(3, 0, 22), 5), { at: [5, 10, 15, 20].map((s) => at(3, 0, s)), step: 5000 });
        assert.deepEqual(timeTicks(at(0, 30), at(13, 0), 5).at, [3, 6, 9, 12].map((h) => at(h)));
        assert.deepEqual(timeTicks(at(3, 0, 0, 100), at(3, 0, 0, 900), 5).at, [200, 400, 600, 800].map((ms) => at(3, 0, 0, ms)));
        assert.equal(timeTicks(0, 86400e3 * 365, 5).at.length, 6);
        assert.deepEqual([at(3), at(3, 0, 5), at(3, 0, 5, 250), at(3, 0, 0, 999)].map((ms) => clock(ms / 1000)), ["03:00", "03:00:05", "03:00:05.2", "03:00:00.9"]);
        assert.equal(clock(at(3) / 1000, true), "03-09");
});

test("a range begins at zero where little room is lost", () => {
        assert.equal(extent([1, 10])[0], 0);
        assert.ok(extent([90, 100])[0] > 80);
        assert.equal(extent([90, 100], true)[0], 0);
        assert.deepEqual(extent([]), [0, 1]);
        assert.deepEqual(extent([NaN, null, undefined]), [0, 1]);
        assert.ok(extent([5, 5])[1] > 5);
        assert.equal(extent([-10, -1])[1], 0);
});

test("boxes have Tukey's whiskers", () => {
        const b = box([1, 2, 3, 4, 5, 100]);

        assert.deepEqual([b.n, b.q1, b.median, b.q3, b.low, b.high], [6, 2.25, 3.5, 4.75, 1, 5]);
        assert.equal(box([7]).median, 7);
});

test("places on scales", () => {
        assert.equal(linear([0, 10], [100, 0])(5), 50);
        assert.equal(linear([3, 3], [0, 10])(3), 0);
        assert.equal(bands(["a", "b"], [0, 100])("b"), 75);
        assert.deepEqual(categories([{ v: 10 }, { v: 9 }, { v: 10 }], "v"), [9, 10]);
        assert.deepEqual(categories([{ v: "b" }, { v: "a" }, {}], "v"), ["b", "a", null]);
});

test("why a job failed is said in words", () => {
        assert.equal(failure({ state: "finished", exit: { status: 0, signal: 0 } }), "");
        assert.match(failure({ state: "finished", exit: { status: 137, signal: 9 } }), /^SIGKILL/);
        assert.match(failure({ state: "finished", exit: { status: 139, signal: 0 } }), /^segmentation fault, as a shell/);
        assert.match(failure({ state: "finished", exit: { status: 127, signal: 0 } }), /not found/);
        assert.match(failure({ state: "finished", exit: { status: 1, signal: 0 }, metrics: { job_oom_kills: 2 } }),
                /^memory ran out: 2 processes/);
        assert.match(failure({ state: "interrupted", exit: null }), /not known/);
});

test("texts of jobs are shown as escapes where they would act", () => {
        assert.equal(plain("a\u202eb\x1b[2J"), "a\\u{202e}b\\x1b[2J");
        assert.equal(cut("x".repeat(10240), 5), "xxxx…");
});

const TESTS = [["1.10.0", 1, 10], ["1.9.0", 1, 20], ["1.9.0", 1, 40], ["1.9.0", 8, 80]].map(([release, users, rate], i) => ({
        path: `t${i}`, exit_code: 0, settings: { release, users, size: "small" }, labels: { "@repeat": i }, values: { rate, all: [1, 2, null], steps: [10, 20, 30] }, kpis: { rate: rate + 1 } }));

test("tests are selected by settings, as MatrixBenchmarking writes it or as a mapping", () => {
        assert.deepEqual(conditions("a=x:y,b=1"), { a: ["x", "y"], b: ["1"] });
        assert.deepEqual(select(TESTS, "release=1.9.0,users=8:9").map((t) => t.path), ["t3"]);
        assert.deepEqual(select(TESTS, { users: [8, 1], release: "1.10.0" }).map((t) => t.path), ["t0"]);
        assert.equal(select(TESTS, undefined).length, 4);
        assert.equal(valueOf(TESTS[0], "rate"), 11);
        assert.equal(valueOf(TESTS[0], "absent"), null);
});

test("what varies names the entries, in the order of the sorting keys", () => {
        assert.deepEqual(varying(TESTS), ["release", "users"]);
        assert.deepEqual(entriesOf(TESTS, ["users"]).map((e) => [e.name, e.tests.length]), [["users=1, release=1.9.0", 2], ["users=1, release=1.10.0", 1], ["users=8, release=1.9.0", 1]]);
});

test("a line has one point for repetitions, and failed tests on their own", () => {
        const bad = { ...TESTS[1], path: "bad", exit_code: 2, kpis: { rate: 5 } };
        const plot = plotOf({ x: "release", y: "rate" }, {}, [...TESTS, bad]);

        assert.equal(plot.legend, "users");
        assert.deepEqual(plot.rows, [
                { users: 1, release: "1.9.0", rate: 31, low: 21, high: 41, n: 2 }, { users: 1, release: "1.9.0", rate: 5, test: "bad", failed: "exit 2" },
                { users: 1, release: "1.10.0", rate: 11, n: 1 }, { users: 8, release: "1.9.0", rate: 81, n: 1 }]);
});

test("a report changes a plot, and order, facets, lists and single are kept", () => {
        const of = (declared, override = {}) => plotOf({ y: "rate", ...declared }, override, TESTS);

        assert.equal(of({ x: "users", kind: "line" }, { kind: "box" }).rows.length, 4);
        assert.deepEqual(of({ x: "users", legend: "none", order: { users: [8, 1] } }).rows.map((r) => r.users), ["8", "1"]);
        assert.equal(of({ x: "users", facets: ["release", "size"] }).rows[0]["release, size"], "release=1.9.0, size=small");
        assert.equal(of({ x: "users", filter: "users=1", single: true }).problem, "select one test: 3 match");
        assert.equal(of({ x: "usrs" }).problem, "no test has usrs");
        assert.deepEqual(plotOf({ x: "item", y: "all", kind: "scatter", single: true }, { filter: "users=8" }, TESTS).rows.map((r) => [r.item, r.all]), [[1, 1], [2, 2]]);
        assert.deepEqual(plotOf({ x: "steps", y: "all", kind: "scatter", legend: "none" }, { filter: "users=8" }, TESTS).rows.map((r) => r.steps), [10, 20]);
        assert.deepEqual(plotOf({ x: "item", y: "all", kind: "scatter", legend: "steps" }, { filter: "users=8" }, TESTS).rows.map((r) => r.steps), [10, 20]);
        const uneven = plotOf({ x: "steps", y: "all", kind: "scatter", legend: "none" }, {}, [{ ...TESTS[0], path: "t", settings: {}, values: { all: [1, 2], steps: [10, 20, 30] } }]);

        assert.deepEqual([uneven.rows, uneven.problem], [[], "t: all and what it is shown by are lists of different lengths"]);
        assert.deepEqual(of({ x: "users", options: { zero: true, unit: "s" } }, { options: { unit: "ms" } }).spec.options, { zero: true, unit: "ms" });
});
