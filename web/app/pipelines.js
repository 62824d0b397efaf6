/* SPDX-License-Identifier: Apache-2.0 */
/* Data pipelines: what limits each, and the stages of one. */

import { find, get, name } from "./api.js";
import { brief, card, command, el, empty, facts, link, note, pill, table } from "./dom.js";
import { cut, duration, figure, percent, plural, seconds, time } from "./format.js";
import { statePill } from "./jobs.js";
import { build } from "./url.js";
import { chart } from "../figures/chart.js";
import { bar } from "../figures/meter.js";
import { stack } from "../figures/stack.js";

const N_JOBS = 20;
const N_PAGES = 5, N_INTERVALS = 1000; /* of the statistics of a job: the store merges older ones */
const N_RANKS = 64, N_ALL = 200;
/* The figures by which users of SPDL read their pipelines, by the names that its guide has for them. */
const FIGURES = [
        { title: "Average Time", part: "tasks", label: "mean time of a task that succeeded", unit: "ms", of: (i) => i.ave_time * 1000 },
        { title: "The number of tasks executed", part: "tasks", label: "in each interval, with those that failed", of: (i) => i.num_tasks },
        { title: "Failures", part: "tasks", label: "tasks that failed in each interval", of: (i) => i.num_failures },
        { title: "Throughput", part: "queue", label: "items out of the queue of each stage (QPS)", unit: "/s", of: (i) => i.qps },
        { title: "Data Readiness", part: "queue", label: "time in which the queue had an item", unit: "ratio", of: (i) => i.occupancy_rate },
        { title: "Queue Get Time", part: "queue", label: "wait of the next stage for an item; of sink, of the training loop", unit: "ms", of: (i) => i.ave_get_time * 1000 },
        { title: "Queue Put Time", part: "queue", label: "wait of the stage for room in its queue", unit: "ms", of: (i) => i.ave_put_time * 1000 },
];

const share = (v, label) => (Number.isFinite(v) ? [percent(v), bar(v, { label })] : "–");

const short = (v) => Number(v.toPrecision(3));
const key = (color, text) => [el("i", { class: "key", style: { background: `var(--${color})` } }), text];

/* How the time of the workers of each stage was spent. */
function stages(verdict) {
        return table([
                { head: "Stage", row: true, cell: (s) => [brief(s.name, 40), s.name === verdict.stage && [" ", pill("limits", "odd")], s.name === verdict.next_stage && [" ", pill("next", "live")]] },
                { head: "Workers", class: "number", cell: (s) => (s.concurrency === undefined ? "–" : `${s.is_inferred ? "~" : ""}${s.concurrency}`) },
                { head: "Busy · blocked · starved", class: "share wide-share", cell: (s) => (s.busy === undefined ? "–" : stack([
                        { name: "busy", value: s.busy, color: "c1" }, { name: "blocked by the next stage", value: s.blocked, color: "c4" }, { name: "starved by the stage before", value: s.starved, color: "soft" }])) },
                { head: key("c1", "Busy"), class: "number", cell: (s) => percent(s.busy) },
                { head: key("c4", "Blocked"), class: "number", cell: (s) => percent(s.blocked) },
                { head: key("soft", "Starved"), class: "number", cell: (s) => percent(s.starved) },
                { head: "Each task", class: "number", cell: (s) => duration(s.mean_time_seconds) },
                { head: "Items", class: "number", title: "items out of the queue of the stage, counted as items of the first stage: a batch of aggregate(8) is eight",
                        cell: (s) => (s.normalized_items_per_second === null ? "–" : figure(short(s.normalized_items_per_second), "/s")) },
                { head: "Ready", class: "number", title: "time with an item ready behind the stage", cell: (s) => (s.readiness === null ? s.readiness_state : share(s.readiness, "ready")) },
                { head: "Failed", class: "number", cell: (s) => (s.failure_ratio > 0 ? el("b", { class: "bad" }, percent(s.failure_ratio)) : percent(s.failure_ratio)) },
        ], verdict.stages, { caption: "Stages" });
}

export const confidence = (verdict) => pill(`confidence: ${verdict.confidence}`, verdict.confidence === "high" ? "ok" : "odd");

export function verdictCard(verdict, n) {
        return card(n > 1 ? `Pipeline ${verdict.pipeline}` : "Data pipeline", null,
                el("p", { class: "verdict" }, el("b", null, verdict.headline), " ", verdict.sentence, " ", verdict.advice, " ", confidence(verdict)),
                facts([["First batch after", Number.isFinite(verdict.first_batch_seconds) ? seconds(verdict.first_batch_seconds) : ""]]),
                stages(verdict),
                verdict.changes === null && note("There are too many intervals to find changes within the run."),
                (verdict.changes ?? []).map((c) => note(`From ${time(c.begin_ms)}`, c.end_ms && ` for ${seconds((c.end_ms - c.begin_ms) / 1000)}`,
                        `, a task of ${cut(c.stage, 40)} took ${duration(c.during_seconds)} instead of ${duration(c.before_seconds)}.`)));
}

async function readIntervals(id, signal) {
        const intervals = [];

        for (let page = "", n = 0; page !== null && n < N_PAGES; n++) {
                const answer = await get(`jobs/${name(id)}/pipeline/intervals`, { limit: N_INTERVALS, page }, signal);

                intervals.push(...answer.intervals);
                page = answer.next ?? null;
        }
        return intervals;
}

function figures(intervals, events) {
        const marks = events.map((e) => ({ x: e.time_ms, to: e.time_ms + 1000 * e.seconds, text: `${cut(e.name, 40)}: ${seconds(e.seconds)}`, tone: "odd" }));
        const names = [...new Set(events.map((e) => cut(e.name, 40)))];
        const someNames = `${names.slice(0, 5).join(", ")}${names.length > 5 ? ", …" : ""}`;
        const named = (stage) => stage.replace(/^\d+:/, "").replace(/_queue$/, "");

        return [marks.length > 0 && note(`Shaded in the plots: ${plural(marks.length, "event")} (${someNames}).`), el("div", { class: "plots" }, FIGURES.map((f) => {
                const rows = intervals.filter((i) => i.part === f.part).map((i) => ({ time: i.end_ms, stage: named(i.stage), value: f.of(i) }))
                        .filter((r) => Number.isFinite(r.value)).sort((a, b) => a.time - b.time);

                return card(null, null, chart({ kind: "line", title: f.title, x: { key: "time", unit: "time" }, y: { key: "value", label: f.label, unit: f.unit },
                        legend: { key: "stage", label: f.part === "tasks" ? "stage" : "queue behind" }, rows, marks: rows.length ? marks : [] }));
        }))];
}

/* The other ranks of a run of many processes: same name and number of ranks, at the same time. */
async function readRanks(job, signal) {
        if (job.rank === null || !job.name)
                return [];
        const { jobs } = await get("jobs", { name: job.name, pipeline: 1, limit: N_ALL }, signal);
        const all = jobs.filter((j) => j.rank !== null && j.ranks === job.ranks && j.uid === job.uid && j.begin_ms <= (job.end_ms ?? Infinity) && (j.end_ms ?? Infinity) >= job.begin_ms)
                .sort((a, b) => a.rank - b.rank).slice(0, N_RANKS);

        return all.length < 2 ? [] : Promise.all(all.map(async (j) => ({ job: j, verdict: (await find(`jobs/${name(j.id)}/pipeline`, {}, signal))?.verdicts[0] })));
}

function ranks(answers) {
        const known = answers.filter((a) => a.verdict);
        const rows = known.flatMap(({ job, verdict }) => verdict.stages.map((s) => ({ rank: job.rank, stage: s.name, "task, ms": s.mean_time_seconds === null ? null : s.mean_time_seconds * 1000, ready: s.readiness })));
        const by = (title, y) => chart({ kind: "bar", title, x: { key: "rank", label: "rank" }, y, legend: { key: "stage" }, rows: rows.filter((r) => Number.isFinite(r[y.key])) });

        return answers.length < 2 ? null : card(`${answers.length} ranks beside each other`, null, table([
                { head: "Rank", row: true, cell: ({ job }) => link(build("pipelines", job.id), String(job.rank)) },
                { head: "State", cell: ({ job }) => statePill(job) },
                { head: "Limited by", cell: ({ verdict }) => brief(verdict ? (verdict.stage ?? verdict.limit) : "–", 40) },
                { head: "Training waited", class: "share", cell: ({ verdict }) => share(verdict?.wait_share, "waited") },
                { head: "Verdict", class: "words", cell: ({ verdict }) => brief(verdict?.headline ?? "too few statistics", 200) },
        ], answers, { caption: "Ranks" }), el("div", { class: "plots" }, by("Mean task by rank", { key: "task, ms", label: "mean task of each stage", unit: "ms" }),
                by("Readiness by rank", { key: "ready", label: "time with an item ready behind the stage", unit: "ratio" })));
}

async function showOne(at) {
        const body = el("div"), id = at.argument;
        const job = await get(`jobs/${name(id)}`, {}, at.signal);

        async function update() {
                if (body.querySelector("details[open]"))
                        return; /* somebody reads the numbers */
                const [answer, intervals, { events }, others] = await Promise.all([get(`jobs/${name(id)}/pipeline`, { changes: 1 }, at.signal), readIntervals(id, at.signal),
                        get(`jobs/${name(id)}/pipeline/events`, {}, at.signal), readRanks(job, at.signal)]);

                body.replaceChildren(...[...(answer.verdicts.length ? answer.verdicts.map((v) => verdictCard(v, answer.verdicts.length))
                        : [empty("No verdict", answer.stages.length ? "The stages have reported too little." : "This job has no statistics of a data pipeline.")]),
                ranks(others), ...(intervals.length > 0 ? figures(intervals, events) : []), command(`perfctl pipeline show ${id}`)].filter(Boolean));
        }

        await update();
        return { title: `Pipeline of ${cut(job.name || id, 40)}`, update: job.state === "running" ? update : null,
                element: el("div", null, el("h1", null, "Data pipeline of ", link(build("job", id), cut(job.name || id, 60)), " ", statePill(job)), body) };
}

async function showAll(at) {
        const body = el("div");

        async function update() {
                const { jobs, next } = await get("jobs", { pipeline: 1, limit: N_JOBS, page: at.params.get("page") }, at.signal);
                const answers = await Promise.all(jobs.map((job) => find(`jobs/${name(job.id)}/pipeline`, {}, at.signal)));
                const rows = jobs.flatMap((job, i) => (answers[i]?.verdicts ?? []).map((verdict) => ({ job, verdict })));

                body.replaceChildren(...[
                        rows.length ? table([
                                { head: "Job", row: true, cell: ({ job }) => link(build("pipelines", job.id), brief(job.name || job.id, 40), job.rank !== null && ` rank ${job.rank}`) },
                                { head: "State", class: "aside", cell: ({ job }) => statePill(job) },
                                { head: "Begin", class: "aside", cell: ({ job }) => time(job.begin_ms) },
                                { head: "Limited by", cell: ({ verdict }) => [el("b", null, brief(verdict.stage ?? verdict.limit, 40))] },
                                { head: "Verdict", class: "words", cell: ({ verdict }) => brief(`${verdict.headline ?? ""} ${verdict.sentence ?? ""}`, 300) },
                                { head: "Training waited", class: "share", cell: ({ verdict }) => share(verdict.wait_share, "waited") },
                                { head: "", cell: ({ verdict }) => confidence(verdict) },
                        ], rows, { caption: "Data pipelines" }) : empty("No data pipelines", "Programs that use SPDL, PyTorch's DataLoader or a plain iterator report theirs with two lines of Python:",
                                el("code", null, "man perfd-python")),
                        next && link(build("pipelines", "", { page: next }), "older »"),
                ].filter(Boolean));
        }

        await update();
        return { title: "Pipelines", update, element: el("div", null, el("h1", null, "Data pipelines"), body) };
}

export const show = (at) => (at.argument ? showOne(at) : showAll(at));
