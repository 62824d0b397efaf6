/* SPDX-License-Identifier: Apache-2.0 */
/* KPIs with their verdicts, and one KPI over its versions. */

import { find, get, name } from "./api.js";
import { brief, card, command, el, empty, facts, link, note, pill, table } from "./dom.js";
import { change, cut, figure, plural, time } from "./format.js";
import { build } from "./url.js";
import { trend } from "../figures/trend.js";

const TONES = { regression: "bad", improvement: "ok", "no change": "ok", returned: "live", changed: "odd", "run again": "odd", unknown: "odd" };
const ORDER = ["regression", "changed", "run again", "improvement", "returned", "no change", "unknown"];
const N_VERSIONS = 200;

const parameters = (kpi) => Object.entries(kpi.labels.parameters ?? {}).map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`);
const interval = (kpi) => (kpi.low === null || kpi.low === undefined ? "–" : `${change(kpi.low)} to ${change(kpi.high)}`);

/* Conditions that select this KPI alone. */
function conditions(kpi) {
        const { component, hardware } = kpi.labels;

        return { component, where: [...parameters(kpi).map((p) => `@parameters.${p}`), ...(hardware ? [`hardware=${hardware}`] : [])] };
}

const hrefOf = (kpi) => build("kpi", kpi.kpi, conditions(kpi));

export function sentence(kpi) {
        const head = kpi.verdict === "unknown" || kpi.relative_change === null ? "" : `: ${change(kpi.relative_change)} (${interval(kpi)})`;
        const since = kpi.since_version ? ` since ${kpi.since_version}` : "";
        const more = kpi.runs_needed > 0 ? `; ${plural(kpi.runs_needed, "more run")} needed for a verdict` : "";

        return `${kpi.verdict}${head}${since}${more}`;
}

function list(kpis) {
        return table([
                { head: "Verdict", cell: (k) => [pill(k.verdict, TONES[k.verdict] ?? "odd"), k.runs_needed > 0 && el("small", { class: "below" }, `${plural(k.runs_needed, "more run")} needed`)] },
                { head: "KPI", row: true, cell: (k) => link(hrefOf(k), brief(k.kpi, 48)) },
                { head: "Component, parameters, hardware", class: "labels", cell: (k) => [k.labels.component, ...parameters(k), k.labels.hardware].filter(Boolean)
                        .map((text) => el("span", { class: "chip" }, brief(text, 40))) },
                { head: "Value", class: "number", cell: (k) => figure(k.value, k.unit) },
                { head: "Better", cell: (k) => k.direction },
                { head: "Change", class: "number", cell: (k) => (k.relative_change === null ? "–" : change(k.relative_change)) },
                { head: "Interval", class: "number", cell: interval },
                { head: "Since", cell: (k) => brief(k.since_version ?? "–", 20) },
                { head: "Runs", class: "number", title: "runs, of versions", cell: (k) => `${k.runs} of ${k.versions}` },
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

const summary = (counts) => ORDER.filter((v) => counts[v] > 0).map((v) => [pill(`${counts[v]} ${v}`, TONES[v]), " "]);

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

                body.replaceChildren(...(kpis.length ? [el("p", null, summary(judged.counts)), list(kpis), judged.note && note(judged.note), accepted.length > 0 && acceptedLevels(accepted)].filter(Boolean)
                        : [empty("No KPIs", judged?.note ?? "A number of an indicator that has a model with a direction is a KPI. Submit one:", el("code", null, "perfctl kpi submit NAME VALUE --direction lower"))]));
        }

        await update();
        return { title: "KPIs", element: el("div", null, el("h1", null, "KPIs"), form, body) };
}

/* Versions in the order of the verdict. */
function sorted(groups, order) {
        const byVersion = (a, b) => String(a.key.version).localeCompare(String(b.key.version), "en", { numeric: true });

        return [...groups].sort(order === "time" ? (a, b) => a.first_ms - b.first_ms : byVersion);
}

export async function showOne(at) {
        const [, indicator, result] = at.argument.match(/^(.*?)(?:\.([^.]+))?$/s);
        const key = result ?? indicator;
        const where = at.params.getAll("where"), component = at.params.get("component");
        const judged = await get(`kpis/${name(at.argument)}/regress`, { where, component }, at.signal);
        const kpi = judged.kpis.find((k) => k.kpi === at.argument) ?? judged.kpis[0];

        if (!kpi)
                return { title: at.argument, element: empty("No results", judged.note ?? "No result meets the conditions.", link("#/kpis", "All KPIs")) };
        const stat = ["median", "min", "max"].map((s) => `${s}:${key}`).join(",");
        const history = await find(`indicators/${name(indicator)}/query`, { where, component, stat, group_by: "version", limit: N_VERSIONS }, at.signal).catch(() => null);
        const points = sorted(history?.groups ?? [], kpi.order).filter((g) => g.key.version !== null).map((g) => ({
                label: g.key.version, n: g.n, value: g.values[`median:${key}`], low: g.values[`min:${key}`], high: g.values[`max:${key}`] }));
        const plot = points.length > 1 ? trend({ label: `${key} by version, median with least and greatest`, unit: kpi.unit, points, since: kpi.since_version }) : null;

        return {
                title: kpi.kpi, end: () => plot?.end(),
                element: el("div", null,
                        el("h1", null, cut(kpi.kpi, 80), " ", pill(kpi.verdict, TONES[kpi.verdict] ?? "odd")),
                        el("p", null, el("b", null, sentence(kpi)), "."),
                        el("p", null, [kpi.labels.component, ...parameters(kpi), kpi.labels.hardware].filter(Boolean).map((text) => el("span", { class: "chip" }, cut(text, 60)))),
                        facts([["Value", figure(kpi.value, kpi.unit), ` at ${kpi.version ?? "?"}`], ["Better", kpi.direction], ["Runs", `${kpi.runs} of ${plural(kpi.versions, "version")}`],
                                ["Detectable change", kpi.smallest_change ? change(kpi.smallest_change).slice(1) : ""], ["Order", kpi.order], ["Latest", time(kpi.time_ms)],
                                ["Method", judged.method]]),
                        plot ? card(null, null, plot.element) : note("A plot needs two versions."),
                        kpi.verdict !== "no change" && kpi.verdict !== "unknown" && card("Is the new level intended?", null,
                                note("Then make it the baseline; later runs are compared with it:"),
                                command(`perfctl kpi accept ${quote(kpi.kpi)}${parameters(kpi).map((p) => ` -w ${quote(p)}`).join("")} --note 'why'`)),
                        el("p", null, link(build("indicator", indicator), `all results of ${cut(indicator, 40)}`), " · ", link("#/kpis", "all KPIs"))),
        };
}

/* A word of a shell. */
export const quote = (text) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);
