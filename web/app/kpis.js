/* SPDX-License-Identifier: Apache-2.0 */
/* KPIs with their verdicts, and one KPI over its versions. */

import { find, get, name, slowly } from "./api.js";
import { brief, card, command, el, empty, facts, link, note, pill, table } from "./dom.js";
import { change, cut, figure, plural, time } from "./format.js";
import { build } from "./url.js";
import { chart } from "../figures/chart.js";

export const TONES = { regression: "bad", improvement: "ok", "no change": "ok", returned: "live", changed: "odd", "run again": "odd", unknown: "odd" };
export const ORDER = ["regression", "changed", "run again", "improvement", "returned", "no change", "unknown"];
const N_VERSIONS = 200;
const N_ROWS = 300; /* of a list; the worst come first */

export const parameters = (kpi) => Object.entries(kpi.labels.parameters ?? {}).map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`);
const interval = (kpi) => (kpi.low === null || kpi.low === undefined ? "–" : `${change(kpi.low)} to ${change(kpi.high)}`);

/* Conditions that select this KPI alone. */
function conditions(kpi) {
        const { component, hardware } = kpi.labels;

        return { component, where: [...parameters(kpi).map((p) => `@parameters.${p}`), ...(hardware ? [`hardware=${hardware}`] : [])] };
}

const hrefOf = (kpi) => build("kpi", kpi.kpi, conditions(kpi));

export function sentence(kpi) {
        const unseen = kpi.verdict === "no change" && kpi.smallest_change > 0
                && `: changes below ${change(kpi.smallest_change).slice(1)} would not be seen in ${plural(kpi.smallest_change_runs, "run")}`;
        const known = kpi.verdict !== "unknown" && kpi.relative_change !== null
                && `: ${change(kpi.relative_change)}${kpi.low === null || kpi.low === undefined ? "" : ` (${interval(kpi)})`}`;
        const since = kpi.since_version || kpi.since_ms ? ` since ${kpi.since_version || time(kpi.since_ms)}` : "";
        const vague = kpi.verdict === "unknown" && !kpi.runs_before && kpi.smallest_change > 1
                && ": the runs vary so much that a change of 100 % would not be seen";
        const mixed = kpi.mixture ? `: differs by label ${kpi.mixture.label} (${kpi.mixture.groups.map((g) => `${g.value ?? "without it"} ${figure(g.median, kpi.unit)}`).join(", ")})` : "";
        const more = kpi.runs_needed > 0 ? `; ${plural(kpi.runs_needed, "more run")} needed for a verdict` : "";
        const back = kpi.back_to_version || kpi.back_to_ms ? `; back at the level of ${kpi.back_to_version || time(kpi.back_to_ms)}` : "";

        return `${kpi.verdict}${mixed}${unseen || known || vague || ""}${since}${back}${more}`;
}

function list(kpis) {
        return table([
                { head: "Verdict", cell: (k) => [pill(k.verdict, TONES[k.verdict] ?? "odd"), k.runs_needed > 0 && el("small", { class: "below" }, `${plural(k.runs_needed, "more run")} needed`),
                        k.mixture && el("small", { class: "below" }, `differs by label ${brief(k.mixture.label, 24)}`)] },
                { head: "KPI", row: true, cell: (k) => link(hrefOf(k), brief(k.kpi, 48)) },
                { head: "Component, parameters, hardware", class: "labels", cell: (k) => [k.labels.component, ...parameters(k), k.labels.hardware].filter(Boolean)
                        .map((text) => el("span", { class: "chip" }, brief(text, 40))) },
                { head: "Value", class: "number", cell: (k) => figure(k.value, k.unit) },
                { head: "Better", cell: (k) => k.direction },
                { head: "Change", class: "number", cell: (k) => (k.relative_change === null ? "–" : change(k.relative_change)) },
                { head: "Interval", class: "number", cell: interval },
                { head: "Since", cell: (k) => brief(k.since_version ?? "–", 20) },
                { head: "Runs, versions", class: "number", cell: (k) => `${k.runs}, ${k.versions}` },
                { head: "Detectable", class: "number", title: "smallest change that would be found", cell: (k) => (k.smallest_change ? `±${change(k.smallest_change).slice(1)}` : "–") },
        ], kpis, { caption: "KPIs", attributes: (k) => ({ class: k.verdict === "regression" ? "bad" : null }) });
}

function acceptedLevels(levels) {
        return card("Accepted levels", null, table([
                { head: "KPI", row: true, cell: (a) => brief(a.kpi, 48) },
                { head: "Where", class: "labels", cell: (a) => a.where.map((w) => el("span", { class: "chip" }, brief(w, 40))) },
                { head: "Up to", cell: (a) => time(a.until_ms) },
                { head: "For", cell: (a) => (a.for_all ? "all users" : `uid ${a.uid}`) },
                { head: "Reason", cell: (a) => brief(a.note ?? "", 80) },
        ], levels, { caption: "Accepted levels" }), note("Later runs are compared with these levels instead of the runs before."));
}

export const summary = (counts) => ORDER.filter((v) => counts[v] > 0).map((v) => [pill(`${counts[v]} ${v}`, TONES[v]), " "]);

export async function showList(at) {
        const pattern = at.params.get("name") || "*";
        const body = el("div");
        const form = el("form", { class: "filters", onsubmit: (event) => {
                event.preventDefault();
                location.hash = build("kpis", "", Object.fromEntries(new FormData(event.currentTarget)));
        } }, el("input", { name: "name", type: "search", placeholder: "KPI, such as *.rate", "aria-label": "KPI", value: at.params.get("name") ?? "" }), el("button", { type: "submit" }, "Filter"));

        async function update() {
                const judged = await find(`kpis/${name(pattern)}/regress`, {}, at.signal);
                const kpis = (judged?.kpis ?? []).sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));

                const { accepted } = await get("kpis/accepted", {}, at.signal);

                body.replaceChildren(...(kpis.length ? [el("p", null, summary(judged.counts)), list(kpis.slice(0, N_ROWS)),
                        kpis.length > N_ROWS && note(`The first ${N_ROWS} of ${plural(kpis.length, "KPI")}, the worst first; a name in the field above selects others.`),
                        judged.note && note(judged.note), accepted.length > 0 && acceptedLevels(accepted)].filter(Boolean)
                        : [empty("No KPIs", (pattern !== "*" && judged?.note) || "A number of an indicator that has a model with a direction is a KPI. Submit one:", el("code", null, "perfctl kpi submit NAME VALUE --direction lower"))]));
        }

        await update();
        return { title: "KPIs", update: slowly(update), element: el("div", null, el("h1", null, "KPIs"), form, body) };
}

/* What tells versions apart, as a verdict names it: one value, or KEY=VALUE of several keys. */
const versionOf = (keys, compared) => (compared.length === 1 ? String(keys[compared[0]]) : compared.map((k) => `${k}=${keys[k]}`).join("|"));

/* Versions in the order of the verdict. */
function sorted(groups, order) {
        const byVersion = (a, b) => a.version.localeCompare(b.version, "en", { numeric: true });

        return [...groups].sort(order === "time" ? (a, b) => a.first_ms - b.first_ms : byVersion);
}

/* Levels between the changes, each with a band of one standard deviation. */
function levelsOf(changes, points) {
        const first = points[0].version, last = points.at(-1).version;
        const before = (version) => points[points.findIndex((p) => p.version === version) - 1]?.version ?? first;

        return changes.flatMap((c, i) => [
                i === 0 && { from: first, to: before(c.version), value: c.before, low: c.before - c.sd_before, high: c.before + c.sd_before },
                { from: c.version, to: changes[i + 1] ? before(changes[i + 1].version) : last, value: c.after, low: c.after - c.sd_after, high: c.after + c.sd_after },
        ]).filter(Boolean);
}

const changed = (c) => `${c.verdict} at ${cut(c.version, 30)}: ${change(c.relative_change)}${c.low === null ? "" : ` (${change(c.low)} to ${change(c.high)})`}`;

export function trend(kpi, key, points, changes) {
        const newest = kpi.since_version && !changes.some((c) => c.version === kpi.since_version) && points.some((p) => p.version === kpi.since_version);

        return chart({ kind: "line", title: `${key} by version`, x: { key: "version", label: "version" },
                y: { key, label: `median, least and greatest of each version${kpi.unit ? `, ${kpi.unit}` : ""}; ${kpi.direction} is better; dashed: a change, grey: levels`, unit: kpi.unit },
                rows: points, levels: levelsOf(changes, points),
                marks: [...changes.map((c) => ({ x: c.version, text: changed(c), tone: TONES[c.verdict] })), ...(newest ? [{ x: kpi.since_version, text: "differs", tone: TONES[kpi.verdict] }] : [])] });
}

export function changesTable(kpi, changes) {
        return table([
                { head: "", cell: (c) => pill(c.verdict, TONES[c.verdict]) },
                { head: "Changed at", row: true, cell: (c) => `changed at ${cut(c.version ?? "?", 40)}` },
                { head: "Change", class: "number", cell: (c) => change(c.relative_change) },
                { head: "Interval, 95 %", class: "number", cell: interval },
                { head: "Level before", class: "number", cell: (c) => figure(c.before, kpi.unit) },
                { head: "New level", class: "number", cell: (c) => figure(c.after, kpi.unit) },
                { head: "Chance", class: "number", title: "probability that chance alone makes a difference as large (p)", cell: (c) => (c.p_value === null ? "–" : figure(Number(c.p_value.toPrecision(2)))) },
                { head: "First run", cell: (c) => time(c.time_ms) },
        ], [...changes].reverse(), { caption: "Changes of the level, newest first" });
}

export async function showOne(at) {
        const [, indicator, result] = at.argument.match(/^(.*?)(?:\.([^.]+))?$/s);
        const key = result ?? indicator;
        const where = at.params.getAll("where"), component = at.params.get("component");
        const [judged, { models }] = await Promise.all([
                get(`kpis/${name(at.argument)}/regress`, { where, component, changes: 1 }, at.signal), get("models", {}, at.signal)]);
        const kpi = judged.kpis.find((k) => k.kpi === at.argument) ?? judged.kpis[0];

        if (!kpi)
                return { title: at.argument, element: empty("No results", judged.note ?? "No result meets the conditions.", link("#/kpis", "All KPIs")) };
        const stat = ["median", "min", "max"].map((s) => `${s}:${key}`).join(",");
        const compared = models.find((m) => m.name === indicator)?.declaration.compare_by ?? ["version"], group_by = compared.join(",");
        const history = await find(`indicators/${name(indicator)}/query`, { where, component, stat, group_by, limit: N_VERSIONS }, at.signal).catch(() => null);
        const groups = (history?.groups ?? []).filter((g) => g.key[compared[0]] !== null).map((g) => ({ ...g, version: versionOf(g.key, compared) }));
        const points = sorted(groups, kpi.order).map(({ version, n, values }) => ({
                version, n, [key]: values[`median:${key}`], low: values[`min:${key}`], high: values[`max:${key}`] }));
        const changes = (kpi.changes ?? []).filter((c) => points.some((p) => p.version === c.version));
        const plot = points.length > 1 ? trend(kpi, key, points, changes) : null;

        return {
                title: kpi.kpi,
                element: el("div", null,
                        el("h1", null, cut(kpi.kpi, 80), " ", pill(kpi.verdict, TONES[kpi.verdict] ?? "odd")),
                        el("p", null, el("b", null, sentence(kpi)), "."),
                        el("p", null, [kpi.labels.component, ...parameters(kpi), kpi.labels.hardware].filter(Boolean).map((text) => el("span", { class: "chip" }, cut(text, 60)))),
                        facts([["Value", figure(kpi.value, kpi.unit), ` at ${kpi.version ?? "?"}`], ["Better", kpi.direction], ["Runs", `${kpi.runs} of ${plural(kpi.versions, "version")}`],
                                ["Detectable change", kpi.smallest_change ? change(kpi.smallest_change).slice(1) : ""], ["Order", kpi.order], ["Latest", time(kpi.time_ms)],
                                ["Method", judged.method]]),
                        plot ? card(null, null, plot) : note("A plot needs two versions."),
                        changes.length > 0 && card(`Changes of the level: ${changes.length}`, null, changesTable(kpi, changes)),
                        kpi.verdict !== "no change" && kpi.verdict !== "unknown" && card("Is the new level intended?", null,
                                note("Then make it the baseline; later runs are compared with it:"),
                                command(`perfctl kpi accept ${quote(kpi.kpi)}${parameters(kpi).map((p) => ` -w ${quote(p)}`).join("")} --note 'why'`)),
                        el("p", null, link(build("indicator", indicator), `all results of ${cut(indicator, 40)}`), " · ", link("#/kpis", "all KPIs"))),
        };
}

/* A word of a shell. */
export const quote = (text) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);
