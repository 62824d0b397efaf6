/* SPDX-License-Identifier: Apache-2.0 */
/* Indicators with their models, and one indicator: statistics by group, ranking and results, with the query in the URL. */

import { get, name } from "./api.js";
import { brief, card, command, el, empty, link, note, pill, table } from "./dom.js";
import { count, cut, figure, percent, plural, time } from "./format.js";
import { quote } from "./kpis.js";
import { build } from "./url.js";
import { chart } from "../figures/chart.js";
import { interval } from "../figures/intervals.js";

const N_RESULTS = 30;
const N_GROUPS = 300; /* of a figure */
const N_RANKINGS = 50;
const N_COLOURS = 12; /* values of a setting that divides a figure unasked */
const N_POINTS = 200; /* newest results of which each is a point */
const KINDS = [["box", "boxes: quartiles"], ["distribution", "each of the newest runs"], ["line", "medians, as a line"], ["bar", "medians, as bars"], ["scatter", "points over x"]];
const STATS = ["median", "q1", "q3", "min", "max"];

const chips = (values) => Object.entries(values ?? {}).filter(([, v]) => v !== null).slice(0, 12)
        .map(([key, v]) => el("span", { class: "chip" }, brief(`${key}=${typeof v === "string" ? v : JSON.stringify(v)}`, 40)));

/* Why an alternative has its rank, in the words of perfctl. */
export function reason({ difference, ratio, tied }, direction) {
        if (difference === "best")
                return tied ? "best, together with others" : `best: the ${direction === "lower" ? "lowest" : "highest"} median`;
        const words = difference === "significant" ? "unlikely to be chance" : difference ?? "not compared";

        if (!Number.isFinite(ratio))
                return words;
        if (ratio === 1)
                return `equal to the best; ${words}`;
        return `${ratio >= 2 ? `${Number(ratio.toPrecision(3))} times as high as` : `${percent(Math.abs(1 - ratio))} ${ratio < 1 ? "lower" : "higher"} than`} the best; ${words}`;
}

/* The answer in a sentence: "c 12.2.0 is best: median 0.085 ms, of 5 runs". */
function winner(one, answer) {
        const best = one.alternatives.filter((a) => a.difference === "best"), first = best[0];
        const title = (a) => Object.values(a.key).filter((v) => v !== null).map((v) => cut(typeof v === "string" ? v : JSON.stringify(v), 40)).join(" ");

        if (!first)
                return null;
        const n_tied = one.alternatives.filter((a) => a.tied && a.difference !== "best").length;
        const how = n_tied > 0 ? ` ${best.length > 1 ? "have" : "has"} the best median, but ${plural(n_tied, "other")} may be as good` : best.length > 1 ? " are best, without a difference that is sure" : " is best";

        return el("p", { class: "verdict" }, el("b", null, best.map(title).join(" and ")), how,
                `: median ${figure(first.median, answer.unit)} of ${plural(first.n, "run")}; ${answer.direction} is better.`);
}

function ranking(one, answer) {
        const bounds = one.alternatives.flatMap((a) => [a.median, a.low, a.high]).filter(Number.isFinite);
        const least = Math.min(0, ...bounds), greatest = Math.max(...bounds);

        return card(null, null, winner(one, answer), el("p", null, chips(one.parameters), one.hardware && el("span", { class: "chip" }, brief(one.hardware, 60))), table([
                { head: "Rank", class: "number", cell: (a) => `${a.tied ? "=" : ""}${a.rank ?? "–"}` },
                { head: "Alternative", row: true, cell: (a) => chips(a.key) },
                { head: "Runs", class: "number", cell: (a) => [a.n, a.n_failed > 0 && el("b", { class: "bad" }, ` ${a.n_failed} failed`)] },
                { head: `Median${answer.unit ? `, ${answer.unit}` : ""}`, class: "number", cell: (a) => figure(a.median) },
                { head: "Interval", class: "share wide-share", cell: (a) => [interval({ value: a.median, low: a.low, high: a.high, best: a.difference === "best" }, least, greatest),
                        el("small", null, Number.isFinite(a.low) ? `${figure(a.low)} to ${figure(a.high)}, ${percent(a.level, 0)}` : "too few runs for an interval")] },
                { head: "Why", class: "words", cell: (a) => reason(a, answer.direction) },
        ], one.alternatives, { caption: "Ranking" }), one.also_differ.length > 0 && note(`Also differ: ${one.also_differ.map((d) => d.key).join(", ")}.`),
        one.runs_needed > 0 && note(`${plural(one.runs_needed, "more run")} of each would be enough for an interval.`));
}

function results(list) {
        return table([
                { head: "Time", cell: (r) => time(r.time_ms) },
                { head: "Component", row: true, cell: (r) => brief(r.component ?? "–", 30) },
                { head: "Version", cell: (r) => brief(r.version ?? "–", 24) },
                { head: "Result", class: "labels", cell: (r) => (r.exit_status ? pill(`failed (exit ${r.exit_status})`, "bad")
                        : Object.entries(r.document?.["@result"] ?? {}).slice(0, 8).map(([k, v]) => el("span", { class: "chip" }, brief(`${k} ${typeof v === "number" ? figure(v) : JSON.stringify(v)}`, 40)))) },
                { head: "Parameters", class: "labels", cell: (r) => chips(r.document?.["@parameters"]) },
                { head: "Job", cell: (r) => (r.job ? link(build("job", r.job), cut(r.job, 20)) : "–") },
        ], list, { caption: "Latest results", attributes: (r) => ({ class: r.exit_status ? "bad" : null }) });
}

/* The declarations that apply: the results with their direction and unit. */
function declared(models, indicator) {
        return models.filter((m) => m.name === indicator).flatMap((m) => Object.entries(m.declaration.results ?? {}).map(([key, r]) => ({ key, ...r })));
}

const keyOf = (document, key) => (key === "component" || key === "version" ? document[key] : document["@parameters"]?.[key]) ?? null;

/* Rows of the figure: statistics of all results that the API computes, or the newest runs themselves. */
async function readRows(path, common, chosen, signal) {
        const { objective, kind } = chosen, keys = [...new Set([chosen.x, chosen.legend, chosen.facet].filter((k) => k && k !== "time"))];

        if (kind === "distribution" || kind === "scatter" || chosen.x === "time") {
                const { results } = await get(`${path}/results`, { ...common, limit: N_POINTS }, signal);

                return results.filter((r) => !r.exit_status && typeof r.document?.["@result"]?.[objective] === "number").reverse().map((r) => ({
                        ...Object.fromEntries(keys.map((k) => [k, keyOf(r.document, k)])), time: r.time_ms, [objective]: r.document["@result"][objective], ...(r.job ? { href: build("job", r.job) } : {}) }));
        }
        const answer = await get(`${path}/query`, { ...common, stat: STATS.map((s) => `${s}:${objective}`).join(","), group_by: keys.join(",") }, signal);
        const isBox = kind === "box";

        return answer.groups.slice(0, N_GROUPS).map(({ key, n, values }) => {
                const of = (stat) => values[`${stat}:${objective}`];

                return { ...key, n, [objective]: of("median"), median: of("median"), low: of(isBox ? "min" : "q1"), high: of(isBox ? "max" : "q3"), ...(isBox ? { q1: of("q1"), q3: of("q3") } : {}) };
        });
}

/* Settings of the results, by which a figure may be divided. */
function settings(results) {
        const seen = new Map();

        for (const { document } of results)
                for (const key of ["component", "version", ...Object.keys(document?.["@parameters"] ?? {})])
                        seen.set(key, (seen.get(key) ?? new Set()).add(JSON.stringify(keyOf(document, key))));
        return seen;
}

function choose(at, seen, numbers) {
        const differing = [...seen].filter(([, values]) => values.size > 1).map(([key]) => key);
        const few = differing.filter((k) => seen.get(k).size <= N_COLOURS);
        const first = (...keys) => keys.find((k) => differing.includes(k)) ?? keys.find((k) => seen.has(k)) ?? "component";
        const of = (key, fallback) => at.params.get(key) ?? fallback;
        const x = of("x", first("version", "component")), objective = at.params.get("objective") || numbers[0];
        const kind = KINDS.some(([k]) => k === at.params.get("kind")) ? at.params.get("kind") : "box";

        return { objective, x, kind, legend: of("legend", few.find((k) => k !== x) ?? ""), facet: of("facet", few.filter((k) => k !== x)[1] ?? ""),
                direction: of("direction", ""), by: of("by", ""), component: of("component", "") };
}

/* The query with changes; "" stays, since "no colour" is a choice. */
function hashWith(at, changes) {
        const params = new URLSearchParams(at.params);

        for (const [key, value] of Object.entries(changes)) {
                params.delete(key);
                for (const item of [value].flat())
                        params.append(key, item);
        }
        return `#/indicator/${encodeURIComponent(at.argument)}?${params}`;
}

function figureForm(at, chosen, seen) {
        const keys = [...seen.keys()];
        const select = (key, label, list) => el("label", null, `${label} `, el("select", { name: key, "aria-label": label }, list.map(([v, text]) => el("option", { value: v, selected: v === chosen[key] }, cut(text, 30)))));
        const named = (list) => list.map((k) => [k, k]);

        return el("form", { class: "filters", onchange: (event) => {
                location.hash = hashWith(at, Object.fromEntries(new FormData(event.currentTarget)));
        } }, select("kind", "Figure", KINDS), select("x", "x", [...named(keys), ["time", "time"]]), select("legend", "Colour", [["", "none"], ...named(keys)]), select("facet", "Panels", [["", "none"], ...named(keys)]));
}

async function distribution(at, path, common, chosen, seen, unit) {
        const rows = await readRows(path, common, chosen, at.signal).catch((error) => {
                if (error.status === 0)
                        throw error;
                return error.message;
        });
        const key = (k) => (k ? { key: k, label: k } : null);

        const some = rows.length === N_GROUPS ? `, the first ${N_GROUPS} groups` : "";
        const what = { box: "boxes: quartiles and median; lines: least and greatest", line: "medians, with quartiles", bar: "medians, with quartiles" };

        return card(null, null, figureForm(at, chosen, seen), typeof rows === "string" ? empty("No figure", rows)
                : chart({ kind: chosen.x === "time" && chosen.kind !== "line" ? "scatter" : chosen.kind, title: `${chosen.objective} of ${at.argument}`, x: { ...key(chosen.x), unit: chosen.x === "time" ? "time" : null },
                        y: { key: chosen.objective, unit, label: what[chosen.kind] ? what[chosen.kind] + some : `each of the newest ${N_POINTS} runs` },
                        legend: key(chosen.legend), facets: key(chosen.facet), rows }));
}

function form(at, numbers, chosen) {
        const field = (key, label, value) => el("label", null, `${label} `, el("input", { name: key, value: value ?? "", "aria-label": label, size: 18 }));

        return el("form", { class: "filters", onsubmit: (event) => {
                event.preventDefault();
                const given = Object.fromEntries(new FormData(event.currentTarget));

                location.hash = hashWith(at, { ...given, where: given.where.split(/\s+/).filter(Boolean) });
        } },
        el("label", null, "Rank by ", el("select", { name: "objective" }, numbers.map((n) => el("option", { value: n, selected: n === chosen.objective }, n)))),
        el("label", null, "Better ", el("select", { name: "direction" }, [["", "as declared"], ["lower", "lower"], ["higher", "higher"]].map(([v, text]) => el("option", { value: v, selected: v === chosen.direction }, text)))),
        field("by", "Compare", chosen.by), field("component", "Component", chosen.component), field("where", "Where", at.params.getAll("where").join(" ")),
        el("button", { type: "submit" }, "Ask"));
}

export async function showOne(at) {
        const indicator = at.argument, path = `indicators/${name(indicator)}`;
        const common = { where: at.params.getAll("where"), component: at.params.get("component") };
        const [latest, models] = await Promise.all([get(`${path}/results`, { ...common, limit: N_RESULTS }, at.signal), get("models", {}, at.signal)]);
        const of = declared(models.models, indicator);
        const seen = latest.results.flatMap((r) => Object.entries(r.document?.["@result"] ?? {}).filter(([, v]) => typeof v === "number").map(([k]) => k));
        const numbers = [...new Set([...of.filter((r) => r.direction).map((r) => r.key), ...seen])];
        const keys = settings(latest.results), chosen = choose(at, keys, numbers);
        const direction = chosen.direction || (of.find((r) => r.key === chosen.objective)?.direction ? "" : "higher");
        let ranks = null, problem = null;

        if (chosen.objective)
                ranks = await get(`${path}/rank`, { ...common, objective: chosen.objective, direction, by: chosen.by }, at.signal).catch((error) => {
                        if (error.status === 0)
                                throw error;
                        problem = error.message;
                });
        const words = [...(chosen.by ? ["--by", chosen.by] : []), ...common.where.flatMap((w) => ["-w", w])];

        return {
                title: indicator,
                element: el("div", null, el("h1", null, cut(indicator, 80)),
                        of.length > 0 && el("p", { class: "note" }, of.slice(0, 8).map((r) => el("span", { class: "chip", title: r.help }, `${r.key}${r.unit ? ` ${r.unit}` : ""}${r.direction ? `, ${r.direction} is better` : ""}`))),
                        form(at, numbers, chosen),
                        numbers.length > 0 && await distribution(at, path, common, chosen, keys, ranks?.unit ?? of.find((r) => r.key === chosen.objective)?.unit),
                        problem && empty("No ranking", problem),
                        ranks?.rankings.slice(0, N_RANKINGS).map((one) => ranking(one, ranks)),
                        ranks?.rankings.length > N_RANKINGS && note(`${N_RANKINGS} of ${ranks.rankings.length} rankings: select parameters in "Where".`),
                        ranks && ranks.rankings.length === 0 && empty("Nothing to rank", ranks.note ?? "A ranking needs two components or versions with the same parameters and hardware."),
                        ranks && command(`perfctl indicator rank ${quote(indicator)} --objective ${quote(chosen.objective)}${words.map((w) => ` ${quote(w)}`).join("")}`),
                        card("Latest results", null, latest.results.length ? results(latest.results) : empty("No matching results", "perfctl run and perfctl submit store them."))),
        };
}

export async function showList(at) {
        const [{ indicators, truncated }, models] = await Promise.all([get("indicators", {}, at.signal), get("models", {}, at.signal)]);
        const model = (row) => models.models.find((m) => m.name === row.name);

        return {
                title: "Indicators",
                element: el("div", null, el("h1", null, "Indicators"), indicators.length ? table([
                        { head: "Indicator", row: true, cell: (r) => link(build("indicator", r.name), brief(r.name, 48)) },
                        { head: "Component", cell: (r) => link(build("indicator", r.name, { component: r.component }), brief(r.component ?? "–", 40)) },
                        { head: "Results", class: "number", cell: (r) => count(r.results) },
                        { head: "Latest", class: "aside", cell: (r) => time(r.latest_ms) },
                        { head: "Model", cell: (r) => (model(r) ? brief(model(r).declaration.help ?? "declared, without a description", 90) : "–") },
                ], indicators, { caption: "Indicators" }) : empty("No results yet", "perfctl run and perfctl submit store them:", el("code", null, "perfctl run --repeat 5 -- ./benchmark")),
                truncated && note("The list is cut."), el("p", { class: "note" }, `${plural(models.models.length, "model")} declared; perfctl model list shows them.`)),
        };
}
