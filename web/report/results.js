/* SPDX-License-Identifier: Apache-2.0 */
/* A report of test results as one file, or the list of several: tests with settings, values and KPIs, plots, verdicts, failures. */

import { brief, card, el, empty, facts, link, note, pill, table } from "../app/dom.js";
import { change, cut, figure, plural, quantity, utc } from "../app/format.js";
import { changesTable, ORDER, parameters, sentence, summary, TONES, trend } from "../app/kpis.js";
import { chart } from "../figures/chart.js";
import { data } from "./data.js";
import { entriesOf, median, plotOf, valueOf, varying } from "./plots.js";

const N_SECTIONS = 200;
const { run } = data;
const view = document.getElementById("view");
const declared = run.model?.results ?? {};
const unitOf = (name) => declared[name]?.unit ?? run.units[name] ?? "";
const verdicts = run.verdicts ?? [];
const text = (v) => (v === undefined ? "–" : typeof v === "string" ? v : JSON.stringify(v));
const resultOf = (kpi) => kpi.kpi.split(".").at(-1);
const title = (name) => name.replace(/_/g, " ");
const failed = run.tests.filter((test) => test.exit_code !== 0);
const chips = (settings) => Object.entries(settings).map(([key, v]) => el("span", { class: "chip" }, brief(`${key}=${typeof v === "string" ? v : JSON.stringify(v)}`, 40)));
const words = (name, fallback) => declared[name]?.help ?? fallback ?? "";

/* What is not shown, of a long list. */
const rest = (list, what) => list.length > N_SECTIONS && note(`The first ${N_SECTIONS} of ${list.length} ${what}.`);

/* --- plots --- */

function drawn(plot) {
        const { spec, rows, legend, facets } = plot, options = spec.options;
        const unit = options.unit ?? unitOf(spec.y);
        const label = options.y_label ?? `${words(spec.y, spec.y)}${unit ? `, ${unit}` : ""}`;
        const isTime = unitOf(spec.x) === "unix_s", shown = isTime ? rows.map((row) => ({ ...row, [spec.x]: 1000 * row[spec.x] })) : rows;
        const figureOf = chart({ kind: spec.kind, title: spec.title ?? `${spec.y} by ${spec.x}`, rows: shown, x: { key: spec.x, label: options.x_label ?? spec.x, unit: isTime ? "time" : unitOf(spec.x) },
                y: { key: spec.y, label, unit, zero: options.zero }, legend: legend ? { key: legend, label: legend } : null, facets: facets ? { key: facets, label: facets.includes(",") ? "" : facets } : null });

        return rows.some((row) => row.n > 1) ? el("div", null, figureOf, note("Medians; lines reach from the least to the greatest of the repetitions.")) : figureOf;
}

/* A plot of one test, of which the reader takes one of those that match. */
function single(declaration, override, plot) {
        const place = el("div"), of = plot.tests.slice(0, 500);
        const list = el("select", { "aria-label": "Test", onchange: () => {
                const test = of[list.selectedIndex - 1];

                place.replaceChildren(...(test ? [drawn(plotOf(declaration, override, [test]))] : []));
        } }, el("option", null, "…"), of.map((test) => el("option", null, cut(test.path, 100))));

        return el("figure", { class: "figure" }, el("h2", null, cut(plot.spec.title ?? `${plot.spec.y} by ${plot.spec.x}`, 100)),
                el("p", { class: "filters" }, el("b", null, `Select one test: ${plot.tests.length} match. `), list), place);
}

function showPlot(part, tests = run.tests) {
        const { plot: name, ...override } = part, declaration = run.plots[name], plot = plotOf(declaration, override, tests);
        let shown = null;

        if (plot.problem && plot.spec.single && plot.tests.length > 1)
                shown = single(declaration, override, plot);
        else if (plot.problem)
                shown = empty(title(name), plot.problem);
        return card(null, null, shown ?? drawn(plot), plot.spec.help && note(plot.spec.help));
}

/* --- KPIs and verdicts --- */

/* Verdicts by the test that is the newest run of their history. */
const judged = new Map();

for (const kpi of verdicts) {
        const test = run.tests.find((t) => t.start_ms === kpi.time_ms && Object.entries(kpi.labels.parameters ?? {}).every(([key, v]) => text(t.settings[key]) === text(v)));

        judged.set(test, [...(judged.get(test) ?? []), kpi]);
}

const verdictsOf = (tests) => tests.flatMap((test) => judged.get(test) ?? []);

const matches = (name, patterns) => !patterns || patterns.some((pattern) => new RegExp(`^${pattern.replace(/[.+^${}()|\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".")}$`).test(name));

function kpiCell(name, entry, kpi) {
        const values = entry.tests.filter((test) => test.exit_code === 0).map((test) => valueOf(test, name)).filter((v) => typeof v === "number");

        if (values.length === 0)
                return el("span", { title: "no test has a value" }, "–");
        return [quantity(median(values), unitOf(name)), values.length > 1 && el("small", null, ` of ${values.length}`),
                kpi && el("small", { class: "below" }, pill(kpi.verdict, TONES[kpi.verdict] ?? "odd"), Number.isFinite(kpi.relative_change) && kpi.verdict !== "unknown" ? ` ${change(kpi.relative_change)}` : "")];
}

function kpiTable({ names, sort_by: sortBy } = {}, tests = run.tests) {
        const kpis = [...new Set(tests.flatMap((test) => Object.keys(test.kpis ?? test.values)))].filter((name) => matches(name, names) && tests.some((test) => typeof valueOf(test, name) === "number"));
        const keys = varying(tests, sortBy ?? run.model?.sort_by ?? []), entries = entriesOf(tests, sortBy ?? run.model?.sort_by);
        const of = new Map(entries.map((e) => [e, verdictsOf(e.tests)]));

        if (kpis.length === 0)
                return empty("KPIs", "No test has a KPI.");
        return card("KPIs", null, table([
                ...keys.map((key, i) => ({ head: key, row: i === 0, cell: (e) => brief(text(e.settings[key]), 40) })),
                { head: "Runs", class: keys.length ? "number" : null, row: !keys.length, cell: (e) => [e.tests.length, e.tests.some((t) => t.exit_code) && el("b", { class: "bad" }, ` ${e.tests.filter((t) => t.exit_code).length} failed`)] },
                ...kpis.map((name) => ({ head: name, title: words(name), class: "number", cell: (e) => kpiCell(name, e, of.get(e)?.find((kpi) => resultOf(kpi) === name)) })),
        ], entries, { caption: "KPIs", attributes: (e) => ({ class: of.get(e).some((kpi) => kpis.includes(resultOf(kpi)) && kpi.verdict === "regression") ? "bad" : null }) }),
        note("Medians of the runs that did not fail", verdicts.length > 0 ? "; a verdict stands at the newest run of its history." : "."));
}

const counts = () => verdicts.reduce((sum, kpi) => ({ ...sum, [kpi.verdict]: (sum[kpi.verdict] ?? 0) + 1 }), {});

function checkOf(kpi, history) {
        const key = resultOf(kpi), points = (history ?? []).filter((p) => p.version !== null && p.median !== null)
                .sort((a, b) => (kpi.order === "time" ? a.first_ms - b.first_ms : a.version.localeCompare(b.version, "en", { numeric: true })))
                .map((p) => ({ version: p.version, n: p.n, [key]: p.median, low: p.min, high: p.max }));
        const changes = (kpi.changes ?? []).filter((c) => points.some((p) => p.version === c.version)), excluded = Object.entries(kpi.excluded ?? {}).filter(([, n]) => n > 0);

        return card(null, null, el("h2", null, cut(kpi.kpi, 80), " ", pill(kpi.verdict, TONES[kpi.verdict] ?? "odd")), el("p", null, el("b", null, sentence(kpi)), "."),
                el("p", null, [kpi.labels.component, ...parameters(kpi), kpi.labels.hardware].filter(Boolean).map((word) => el("span", { class: "chip" }, brief(word, 60)))),
                facts([["Value", figure(kpi.value, kpi.unit), kpi.version ? ` at ${kpi.version}` : ""], ["Better", kpi.direction],
                        ["History used", `${plural(kpi.runs, "run")} of ${plural(kpi.versions, "version")}, in the order of ${kpi.order}`],
                        ["Not used", excluded.map(([why, n]) => `${n} ${why}`).join(", ")], ["Detectable change", kpi.smallest_change ? `${(100 * kpi.smallest_change).toFixed(1)} %` : ""]]),
                points.length > 1 ? trend(kpi, key, points, changes) : note(history ? "A plot needs two versions." : "The history was not asked for."),
                changes.length > 0 && changesTable(kpi, changes));
}

function check({ names } = {}, tests = run.tests) {
        const of = (tests === run.tests ? [...verdicts] : verdictsOf(tests)).filter((kpi) => matches(resultOf(kpi), names));
        const why = run.steps.find((step) => step.name === "check")?.text, sorted = of.sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));

        return of.length === 0 ? empty("No verdicts", why ?? "") : [el("div", { class: "plots" }, sorted.slice(0, N_SECTIONS).map((kpi) => checkOf(kpi, run.history[verdicts.indexOf(kpi)]))), rest(sorted, "KPIs, the worst first")];
}

/* --- failures, configuration --- */

function errors(tests = run.tests) {
        const of = tests.filter((test) => test.exit_code !== 0 || test.findings.length > 0);
        const others = tests === run.tests ? run.findings : [];

        return card(`Failed tests: ${tests.filter((test) => test.exit_code !== 0).length} of ${tests.length}`, null,
                of.length + others.length === 0 && note("All tests have ended well, and nothing is missing."),
                of.slice(0, N_SECTIONS).map((test) => el("section", { class: "failed" },
                        el("h3", null, pill(test.exit_code ? `failed: exit ${test.exit_code}` : "findings", test.exit_code ? "bad" : "odd"), " ", cut(test.path, 120)), el("p", null, chips(test.settings)),
                        facts(Object.entries(test.values).filter(([, v]) => typeof v === "string" && test.exit_code).map(([key, v]) => [key, cut(v, 200)])),
                        test.findings.length > 0 && el("ul", null, test.findings.map((line) => el("li", null, cut(line, 400)))),
                        test.log ? el("pre", { class: "log", tabindex: "0", "aria-label": "End of the log" }, test.log) : test.exit_code !== 0 && note("No log was found."))),
                rest(of, "tests"), others.length > 0 && el("ul", null, others.map((line) => el("li", null, cut(line, 400)))),
                tests === run.tests && run.left_out.length > 0 && table([{ head: "Left out", row: true, cell: (r) => brief(r.path, 80) }, { head: "Reason", cell: (r) => r.reason }],
                        run.left_out, { caption: "Directories that are left out" }));
}

const stepTable = () => table([{ head: "Step", row: true, cell: (s) => s.name }, { head: "Outcome", cell: (s) => s.text }], run.steps, { caption: "Steps" });

function configuration() {
        return card("Configuration", null, facts([["Directory", run.directory], ["Presets", run.presets.join(", ")], ["Written", utc(run.time_ms)]]), stepTable(),
                el("pre", { class: "log", tabindex: "0", "aria-label": "Declaration" }, run.config));
}

/* --- parts of a report --- */

function entries(parts) {
        const all = entriesOf(run.tests, run.model?.sort_by);

        return [all.slice(0, N_SECTIONS).map((entry) => el("section", { class: "entry" }, el("h2", { class: "heading" }, cut(entry.name, 200)), el("p", null, chips(entry.settings), ` ${plural(entry.tests.length, "run")}`),
                parts.map((part) => show(part, entry)))), rest(all, "settings")];
}

/* entry: of which the part is; undefined: of all tests */
function show(part, entry) {
        const key = typeof part === "string" ? part : Object.keys(part)[0], of = part[key] ?? undefined;

        switch (key) {
        case "heading": return el("h2", { class: "heading" }, cut(of, 200));
        case "text": return el("p", { class: "text" }, cut(of, 20000));
        case "plot": return showPlot(part, entry?.tests);
        case "kpis": return kpiTable(of, entry?.tests);
        case "check": return check(of, entry?.tests);
        case "errors": return errors(entry?.tests);
        case "configuration": return configuration();
        default: return entries(of);
        }
}

/* What is shown if the declaration has no report: all there is. */
const all = () => ["kpis", ...Object.keys(run.plots ?? {}).map((plot) => ({ plot })), ...(verdicts.length ? ["check"] : []), "errors", "configuration"];

function index() {
        return [el("h1", null, run.name ?? "Test results"), card("Reports", null, el("ul", null, data.reports.map((name) => el("li", null, link(`${name}.html`, title(name)))))), card("Steps", null, stepTable())];
}

function report() {
        const parts = data.parts ?? (run.plots?.[data.report] ? [{ plot: data.report }] : all());

        return [data.reports.length > 1 && el("p", { class: "note" }, link("index.html", "all reports")), el("h1", null, `${run.name ? `${run.name}: ` : ""}${title(data.report)}`),
                el("p", null, `${plural(run.tests.length, "test")}`, failed.length > 0 && [", ", el("b", { class: "bad" }, `${failed.length} failed`)], verdicts.length > 0 && [" · ", summary(counts())]), parts.map((part) => show(part))];
}

document.title = `${run.name ?? "Test results"} · ${data.report ? title(data.report) : "reports"}`;
view.replaceChildren(...[data.report ? report() : index(), el("footer", null, `Written ${utc(run.time_ms)} by perfctl ${run.version}.`)].flat(Infinity).filter(Boolean));
view.dataset.shown = "report";
