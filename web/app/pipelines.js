/* SPDX-License-Identifier: Apache-2.0 */
/* Data pipelines: what limits each, and the stages of one. */

import { find, get, name } from "./api.js";
import { brief, card, command, el, empty, facts, link, note, pill, table } from "./dom.js";
import { cut, figure, percent, seconds, time } from "./format.js";
import { statePill } from "./jobs.js";
import { build } from "./url.js";
import { bar } from "../figures/meter.js";
import { stack } from "../figures/stack.js";

const N_JOBS = 20;

const share = (v, label) => (Number.isFinite(v) ? [percent(v), bar(v, { label })] : "–");

/* How the time of the workers of each stage was spent. */
function stages(verdict) {
        return table([
                { head: "Stage", row: true, cell: (s) => [brief(s.name, 40), s.name === verdict.stage && [" ", pill("limits", "odd")], s.name === verdict.next_stage && [" ", pill("next", "live")]] },
                { head: "Workers", class: "number", cell: (s) => (s.concurrency === undefined ? "–" : `${s.is_inferred ? "~" : ""}${s.concurrency}`) },
                { head: "Busy · blocked · starved", class: "share wide-share", cell: (s) => (s.busy === undefined ? "–" : stack([
                        { name: "busy", value: s.busy, color: "c1" }, { name: "blocked by the next stage", value: s.blocked, color: "c4" }, { name: "starved by the stage before", value: s.starved, color: "line" }])) },
                { head: "Busy", class: "number", cell: (s) => percent(s.busy) },
                { head: "Blocked", class: "number", cell: (s) => percent(s.blocked) },
                { head: "Starved", class: "number", cell: (s) => percent(s.starved) },
                { head: "Each task", class: "number", cell: (s) => (s.mean_time_seconds === null ? "–" : figure(s.mean_time_seconds * 1000, "ms")) },
                { head: "Items", class: "number", cell: (s) => (s.items_per_second === null ? "–" : figure(s.items_per_second, "/s")) },
                { head: "Ready", class: "number", title: "time with an item ready behind the stage", cell: (s) => (s.readiness === null ? s.readiness_state : share(s.readiness, "ready")) },
                { head: "Failed", class: "number", cell: (s) => (s.failure_ratio > 0 ? el("b", { class: "bad" }, percent(s.failure_ratio)) : percent(s.failure_ratio)) },
        ], verdict.stages, { caption: "Stages" });
}

export const confidence = (verdict) => pill(`confidence: ${verdict.confidence}`, verdict.confidence === "high" ? "ok" : "odd");

export function verdictCard(verdict, n) {
        return card(n > 1 ? `Pipeline ${verdict.pipeline}` : "Data pipeline", null,
                el("p", { class: "verdict" }, el("b", null, verdict.headline), " ", verdict.sentence, " ", verdict.advice, " ", confidence(verdict)),
                facts([["Training waited", Number.isFinite(verdict.wait_share) ? `${percent(verdict.wait_share)}${Number.isFinite(verdict.waited_seconds) ? `, ${seconds(verdict.waited_seconds)}` : ""}` : ""],
                        ["First batch after", Number.isFinite(verdict.first_batch_seconds) ? seconds(verdict.first_batch_seconds) : ""]]),
                stages(verdict),
                (verdict.changes ?? []).map((c) => note(`${c.stage}: a task took ${seconds(c.during_seconds)} instead of ${seconds(c.before_seconds)} from ${time(c.begin_ms)}${c.end_ms ? ` to ${time(c.end_ms)}` : " on"}.`)));
}

async function showOne(at) {
        const body = el("div"), id = at.argument;
        const job = await get(`jobs/${name(id)}`, {}, at.signal);

        async function update() {
                const answer = await get(`jobs/${name(id)}/pipeline`, { changes: 1 }, at.signal);

                body.replaceChildren(...(answer.verdicts.length ? answer.verdicts.map((v) => verdictCard(v, answer.verdicts.length))
                        : [empty("No verdict", answer.stages.length ? "The stages have reported too little." : "This job has no statistics of a data pipeline.")]), command(`perfctl pipeline show ${id}`));
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
                                { head: "Job", row: true, cell: ({ job }) => link(build("pipelines", job.id), brief(job.name || job.id, 40)) },
                                { head: "State", cell: ({ job }) => statePill(job) },
                                { head: "Begin", cell: ({ job }) => time(job.begin_ms) },
                                { head: "Limited by", cell: ({ verdict }) => [el("b", null, brief(verdict.stage ?? verdict.limit, 40))] },
                                { head: "Verdict", cell: ({ verdict }) => brief(`${verdict.headline ?? ""} ${verdict.sentence ?? ""}`, 300) },
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
