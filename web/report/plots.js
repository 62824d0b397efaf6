/* SPDX-License-Identifier: Apache-2.0 */
/* What a plot of results.yaml shows: rows for figures/chart.js, from tests with settings, values, results and KPIs. Pure: no document is needed. */

const item = (v, i) => (Array.isArray(v) ? v[i] ?? null : v);
const text = (v) => (typeof v === "string" ? v : JSON.stringify(v ?? null));
const has = (object, key) => object !== undefined && Object.hasOwn(object, key);

/* The number of a test by its name, or its setting; a setting comes first on x, and a number on y. */
export function valueOf(test, name, settingFirst = false) {
        const of = ["kpis", "results", "values"].find((part) => has(test[part], name));
        const setting = [test.settings, test.labels].find((part) => has(part, name))?.[name];

        return settingFirst || !of ? setting ?? test[of]?.[name] ?? null : test[of][name] ?? null;
}

/* { setting: [texts of values] }, of a mapping or of "model=a:b,users=1" */
export function conditions(filter) {
        if (typeof filter === "string")
                return Object.fromEntries(filter.split(",").map((part) => [part.slice(0, part.indexOf("=")).trim(), part.slice(part.indexOf("=") + 1).split(":")]));
        return Object.fromEntries(Object.entries(filter ?? {}).map(([key, values]) => [key, [values].flat().map(text)]));
}

export function select(tests, filter) {
        const wanted = Object.entries(conditions(filter));

        return tests.filter((test) => wanted.every(([key, values]) => values.includes(text(valueOf(test, key, true)))));
}

/* Settings with several values among the tests, without repetitions and what names a run; those to sort by come first. */
export function varying(tests, sortBy = []) {
        const keys = [...new Set(tests.flatMap((test) => Object.keys(test.settings)))].filter((key) => new Set(tests.map((test) => text(test.settings[key]))).size > 1);

        return [...sortBy.filter((key) => keys.includes(key)), ...keys.filter((key) => !sortBy.includes(key))];
}

export const nameOf = (test, keys) => keys.map((key) => `${key}=${text(test.settings[key])}`).join(", ");

const natural = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));

/* Compares two tests by settings: in the order that the plot gives, otherwise numbers and versions ascending. */
export function byKeys(keys, order = {}) {
        const place = (key, v) => {
                const at = (order[key] ?? []).map(text).indexOf(text(v));

                return at < 0 ? Infinity : at;
        };

        return (a, b) => keys.reduce((result, key) => {
                const [p, q] = [a, b].map((test) => valueOf(test, key, true));

                return result || (place(key, p) === place(key, q) ? natural(p, q) : place(key, p) - place(key, q));
        }, 0);
}

/* Tests that differ in repetitions only are one entry. */
export function entriesOf(tests, sortBy) {
        const keys = varying(tests, sortBy), entries = new Map();

        for (const test of [...tests].sort(byKeys(keys))) {
                const key = JSON.stringify(Object.entries(test.settings).sort());

                entries.set(key, [...(entries.get(key) ?? []), test]);
        }
        return [...entries.values()].map((of) => ({ name: nameOf(of[0], keys) || "all tests", settings: of[0].settings, tests: of }));
}

export function median(values) {
        const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;

        return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/* Whether a list beside y has another number of items, such as a column with empty cells: which of them belong together is unknown. */
function isUneven(test, spec, beside) {
        const y = [valueOf(test, spec.y) ?? []].flat(), lists = [spec.x, ...beside].map((key) => valueOf(test, key, true)).filter(Array.isArray);

        return y.length > 0 && lists.some((list) => list.length !== y.length);
}

/* Rows of one test: a value that is a list has a row for each item, beside the items of x, legend and facets if these are lists too. */
function points(test, spec, legend, facets) {
        const y = valueOf(test, spec.y), x = spec.x === "item" ? null : valueOf(test, spec.x, true);
        const isOrdered = has(spec.order, spec.x);

        return [y].flat().map((v, i) => {
                const at = spec.x === "item" ? i + 1 : item(x, i);
                const keys = { ...(legend.length ? { [legend.join(", ")]: joined(test, legend, i) } : {}), ...(facets.length ? { [facets.join(", ")]: joined(test, facets, i) } : {}) };

                return { [spec.x]: isOrdered ? text(at) : at, ...keys, [spec.y]: typeof v === "boolean" ? Number(v) : v, test: test.path, ...(test.exit_code ? { failed: `exit ${test.exit_code}` } : {}) };
        }).filter((row) => typeof row[spec.y] === "number");
}

/* One key: its value; several: "a=1, b=2". */
function joined(test, keys, i) {
        const of = (key) => item(valueOf(test, key, true), i);

        return keys.length === 1 ? of(keys[0]) : keys.map((key) => `${key}=${text(of(key))}`).join(", ");
}

/* Repetitions as one row: median, least and greatest. Tests that failed stay on their own. */
function gather(rows, spec) {
        const groups = new Map();

        for (const { test, failed, ...row } of rows) {
                const key = failed ? test : JSON.stringify({ ...row, [spec.y]: 0 });

                groups.set(key, [...(groups.get(key) ?? []), { ...row, ...(failed ? { test, failed } : {}) }]);
        }
        return [...groups.values()].flatMap((of) => {
                const values = of.map((row) => row[spec.y]);

                return of[0].failed ? of : [{ ...of[0], [spec.y]: median(values), ...(values.length > 1 ? { low: Math.min(...values), high: Math.max(...values) } : {}), n: values.length }];
        });
}

/* A plot of the declaration as changed by a report: { spec, rows, tests, problem }. */
export function plotOf(declared, override, tests) {
        const spec = { kind: "line", ...declared, ...override, options: { ...declared.options, ...override.options } };
        const of = [declared.filter, override.filter].reduce((left, f) => select(left, f), tests);
        const facets = [spec.facets ?? []].flat().filter((key) => key !== "none"), fixed = [spec.x, "item", ...facets];
        const legend = spec.legend === undefined ? varying(of.filter((test) => valueOf(test, spec.y) !== null)).filter((key) => !fixed.includes(key)) : [spec.legend].flat().filter((key) => key !== "none");
        const uneven = of.filter((test) => isUneven(test, spec, [...legend, ...facets]));
        const rows = of.filter((test) => !uneven.includes(test)).sort(byKeys([...facets, ...legend, ...(spec.x === "item" ? [] : [spec.x])], spec.order)).flatMap((test) => points(test, spec, legend, facets));
        const absent = [...legend, ...facets, ...Object.keys(conditions(spec.filter)), ...(spec.x === "item" ? [] : [spec.x])].find((key) => tests.every((test) => valueOf(test, key, true) === null));
        let problem = null;

        if (spec.single && of.length !== 1)
                problem = `select one test: ${of.length} match`;
        else if (absent)
                problem = `no test has ${absent}`;
        else if (uneven.length)
                problem = `${uneven[0].path}: ${spec.y} and what it is shown by are lists of different lengths`;
        return { spec, legend: legend.join(", "), facets: facets.join(", "), tests: of, problem, rows: spec.kind === "line" || spec.kind === "bar" ? gather(rows, spec) : rows };
}
