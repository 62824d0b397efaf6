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
const { bands, box, categories, extent, linear, ticks } = await load("figures/scale");
const { cut, failure, plain } = await load("app/format");

test("ticks are round and within the range", () => {
        assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
        assert.deepEqual(ticks(0.1, 0.35, 4), [0.1, 0.2, 0.3]);
        assert.deepEqual(ticks(0, 3000, 3, "bytes"), [0, 1024, 2048]);
        assert.deepEqual(ticks(-3, 3, 3), [-2, 0, 2]);
        assert.deepEqual(ticks(5, 5, 4), [5]);
        assert.equal(ticks(1e-12, 1e12, 5).length < 12, true);
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
