/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs, newest first: filters, pages and what is selected are in the URL. */

import { get } from "./api.js";
import { brief, el, empty, keepPlace, link, note, pill, table } from "./dom.js";
import { jobGpuUse } from "./equipment.js";
import { bytes, cpus, failure, jobState, percent, plural, seconds, time, utc } from "./format.js";
import { build } from "./url.js";
import { bar } from "../figures/meter.js";

const N_ROWS = 50;
const STATES = [["", "any state"], ["running", "running"], ["finished", "finished"], ["failed", "failed"], ["interrupted", "interrupted"]];
const SPANS = [["", "any time"], ["3600", "last hour"], ["86400", "last day"], ["604800", "last week"], ["2592000", "last 30 days"]];

export const statePill = (job) => {
        const state = jobState(job);

        return pill(state.text, state.tone);
};

export function took(job, now_ms) {
        const end = job.end_ms ?? (job.state === "running" ? now_ms : null);

        return job.metrics?.duration_seconds ?? (end ? (end - job.begin_ms) / 1000 : NaN);
}

/* Conditions of the API from those of the URL. */
function conditions(params, now_ms) {
        const state = params.get("state") ?? "", span = Number(params.get("span"));

        return {
                search: params.get("search"), user: params.get("user"), name: params.get("name"), label: params.getAll("label"),
                state: state === "failed" ? "" : state, failed: state === "failed" ? 1 : "",
                since_ms: span > 0 ? now_ms - 1000 * span : params.get("since_ms"), until_ms: params.get("until_ms"),
                sort: params.get("sort"), page: params.get("page"), limit: N_ROWS,
        };
}

export function chip(key, value) {
        return link(build("jobs", "", { label: `${key}=${value}` }), el("span", { class: "chip" }, brief(`${key}=${value}`, 40)));
}

function filters(params) {
        const options = (list, key) => list.map(([value, text]) => el("option", { value, selected: (params.get(key) ?? "") === value }, text));
        const field = (key, label, placeholder) => el("input", { name: key, type: "search", "aria-label": label, placeholder, value: params.get(key) ?? "", maxlength: 200 });
        const labels = params.getAll("label");

        return el("form", { class: "filters", role: "search", onsubmit: (event) => {
                event.preventDefault();
                const given = new FormData(event.currentTarget);
                const label = String(given.get("label")).split(/[,\s]+/).filter(Boolean);

                given.delete("label");
                location.hash = build("jobs", "", { ...Object.fromEntries(given), label, sort: params.get("sort"), pick: params.getAll("pick") });
        }, onchange: (event) => event.target.tagName === "SELECT" && event.currentTarget.requestSubmit() },
        field("search", "Search in id, name, user, labels and command", "search…"), field("name", "Name", "name"), field("user", "User", "user"),
        el("input", { name: "label", type: "search", "aria-label": "Labels, such as project=web", placeholder: "label=value", value: labels.join(" ") }),
        el("select", { name: "state", "aria-label": "State" }, options(STATES, "state")),
        el("select", { name: "span", "aria-label": "Begun in" }, options(SPANS, "span")),
        el("button", { type: "submit" }, "Filter"), params.size > 0 && link("#/jobs", "clear"));
}

const QUICK = [["all", {}], ["failed, last 24 h", { state: "failed", span: 86400 }], ["running", { state: "running" }], ["longest", { sort: "-duration" }], ["most memory", { sort: "-memory" }]];

function quick(params) {
        const here = build("jobs", "", params);

        return el("p", { class: "picker", role: "group", "aria-label": "Often wanted" }, QUICK.map(([text, query]) => el("a", {
                href: build("jobs", "", query), "aria-current": build("jobs", "", query) === here ? "true" : null }, text)));
}

/* A column without a value in any row is left out. */
function columnsOf(picked, now_ms, jobs) {
        const has = (key) => jobs.some((j) => Number.isFinite(j.metrics?.[key]));

        return [
                { head: el("span", { class: "hidden" }, "Select"), class: "pick", cell: (j) => el("input", { type: "checkbox", checked: picked.has(j.id), "data-id": j.id, "aria-label": `select ${j.name || j.id}` }) },
                { head: "State", cell: (j) => [statePill(j), failure(j) && el("small", { class: "below" }, failure(j))] },
                { head: "Job", row: true, class: "name", cell: (j) => [link(build("job", j.id), brief(j.name || j.id, 40)), j.name && el("small", null, j.id)] },
                { head: "User", class: "aside", cell: (j) => brief(j.user || `uid ${j.uid ?? "?"}`, 20) },
                { head: "Begin", sort: "begin", cell: (j) => el("time", { title: utc(j.begin_ms) }, time(j.begin_ms)) },
                { head: "Took", class: "number", sort: "duration", cell: (j) => seconds(took(j, now_ms)) },
                has("job_cpus_used") && { head: "CPUs used", class: "number", sort: "cpus", cell: (j) => usedCpus(j) },
                jobs.some((j) => jobGpuUse(j.metrics)) && { head: "GPUs used", class: "number", cell: (j) => jobGpuUse(j.metrics) ?? "" },
                has("job_memory_peak_bytes") && { head: "Peak memory", class: "number", sort: "memory", cell: (j) => bytes(j.metrics?.job_memory_peak_bytes) },
                has("cpu_avg_utilization_pct") && { head: "Node CPU", class: "number", title: "mean utilization of the node during the job", cell: (j) => percent((j.metrics?.cpu_avg_utilization_pct ?? NaN) / 100) },
                jobs.some((j) => Object.keys(j.labels).length > 0) && { head: "Labels", class: "labels", cell: (j) => Object.entries(j.labels).map(([key, value]) => chip(key, value)) },
        ].filter(Boolean);
}

function usedCpus(job) {
        const used = job.metrics?.job_cpus_used, given = job.metrics?.job_cpus_given;

        return used === undefined ? "–" : [cpus(used), given > 0 && [` of ${cpus(given)}`, bar(used / given, { label: "CPUs used" })]];
}

function nothing(params) {
        if (params.size > 0)
                return empty("No job meets these conditions", link("#/jobs", "Show all jobs"));
        return empty("No jobs yet", "Run one, and it appears here:", el("code", null, "perfctl run --name first -- sleep 1"));
}

export async function show(at) {
        const picked = new Set(at.params.getAll("pick"));
        const list = el("div"), actions = el("p", { class: "actions", role: "status" });

        function hashWith(changes) {
                const params = new URLSearchParams(at.params);

                for (const [key, value] of Object.entries(changes)) {
                        params.delete(key);
                        for (const item of [value].flat().filter(Boolean))
                                params.append(key, item);
                }
                return build("jobs", "", params);
        }

        function showActions(answer) {
                const pages = [
                        at.params.get("page") && link(hashWith({ page: "" }), "« newest"),
                        answer.next && link(hashWith({ page: answer.next }), "older »"),
                ].filter(Boolean).flatMap((a) => [a, " "]);
                const compare = picked.size > 1 ? link(build("compare", [...picked].join(",")), `Compare ${picked.size} jobs`)
                        : el("span", { class: "note" }, picked.size ? "select another to compare" : "select two or more to compare");

                actions.replaceChildren(compare, el("span", { class: "pages" }, ...pages));
        }

        async function update(node) {
                const answer = await get("jobs", conditions(at.params, node.time_ms), at.signal);

                list.replaceChildren(answer.jobs.length === 0 ? nothing(at.params)
                        : table(columnsOf(picked, node.time_ms, answer.jobs), answer.jobs, {
                                caption: "Jobs", attributes: (j) => ({ class: jobState(j).tone }),
                                sorted: at.params.get("sort") ?? "-begin", onsort: (key) => (location.hash = hashWith({ sort: key === "-begin" ? "" : key, page: "" })),
                        }));
                if (answer.others?.running > 0)
                        list.append(note(`${plural(answer.others.running, "job")} of other users run as well; they are shown to their users and to administrators.`));
                showActions(answer);
        }

        list.addEventListener("change", (event) => {
                if (event.target.checked)
                        picked.add(event.target.dataset.id);
                else
                        picked.delete(event.target.dataset.id);
                history.replaceState(null, "", hashWith({ pick: [...picked] }));
                at.params = new URLSearchParams(location.hash.split("?")[1]);
                update(at.node).then(keepPlace(list)).catch(() => null); /* the next refresh says what is wrong */
        });

        await update(at.node);
        return { title: "Jobs", update, element: el("div", null, el("h1", null, "Jobs"), quick(at.params), filters(at.params), actions, list) };
}
