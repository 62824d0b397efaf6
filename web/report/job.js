/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a job, or of the nodes of a run, as one file: the view of the page, which is not updated. */

import { show } from "../app/job.js";
import { brief, card, el, link, table } from "../app/dom.js";
import { jobGpuUse } from "../app/equipment.js";
import { bytes, cpus, cut, seconds, utc } from "../app/format.js";
import { statePill, took } from "../app/jobs.js";
import { choose, data } from "./data.js";

const view = document.getElementById("view");
const of = (job, key) => job.metrics.find((m) => m.key === key)?.value;
const place = (job) => `${job.on?.hostname ?? "unknown node"}${Number.isInteger(job.rank) ? `, rank ${job.rank}` : ""}`;

/* Numbers of the nodes beside each other, each with a link to its report below. */
function contents(reports) {
        const gpus = new Map(reports.map((r) => [r, jobGpuUse(Object.fromEntries(r.job.metrics.map((m) => [m.key, m.value])))]));

        return card(`${reports.length} reports`, null, table([
                { head: "Node", row: true, cell: (r) => link(`#report-${reports.indexOf(r)}`, brief(place(r.job), 60)) },
                { head: "State", cell: (r) => statePill(r.job) },
                { head: "Took", class: "number", cell: (r) => seconds(of(r.job, "duration_seconds") ?? took(r.job, data.time_ms)) },
                { head: "CPUs used", class: "number", cell: (r) => cpus(of(r.job, "job_cpus_used")) },
                ...(reports.some(gpus.get, gpus) ? [{ head: "GPUs used", class: "number", cell: (r) => gpus.get(r) ?? "" }] : []),
                { head: "Memory, peak", class: "number", cell: (r) => bytes(of(r.job, "job_memory_peak_bytes")) },
        ], reports, { caption: "Reports" }));
}

/* Links to other views of the page lead nowhere in a file. */
function removeLinks(element) {
        for (const a of element.querySelectorAll('a[href^="#/"]'))
                a.replaceWith(...a.childNodes);
}

async function section(report, index) {
        choose(report);
        const shown = await show({ argument: report.job.id, isFile: true, node: { time_ms: data.time_ms } });
        const element = el("section", { id: `report-${index}`, class: "report" }, shown.element);

        removeLinks(element);
        return element;
}

async function open() {
        const { reports } = data;
        const sections = [];

        for (const [index, report] of reports.entries())
                sections.push(await section(report, index));
        document.title = `${cut(reports[0].job.name || reports[0].job.id, 80)} · perfd`;
        view.replaceChildren(reports.length > 1 ? contents(reports) : "", ...sections,
                el("footer", null, `Written ${utc(data.time_ms)} by perfctl ${data.version}.`));
        view.dataset.shown = "report";
}

open();
