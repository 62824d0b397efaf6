/* SPDX-License-Identifier: Apache-2.0 */
/* What app/api.js is to a page of perfd: the answers of the JSON API, from the data of this file. */

export class ApiError extends Error {
        constructor(status, message) {
                super(message);
                this.status = status;
        }
}

/* { time_ms, version, reports: [{ job, samples, pipeline, results }] }; a report of another node is its job only */
export const data = JSON.parse(document.getElementById("data").textContent);

const NO_SERIES = { cpu: { mean: [] } };
let current = null;

/* Sets the report that the next queries are about: two nodes may have jobs with the same id. */
export const choose = (report) => (current = report);

export const name = (text) => encodeURIComponent(text);

export async function get(path) {
        const [subject, , below] = path.split("/");
        const answers = { "jobs": current.job, "jobs/samples": current.samples ?? { series: NO_SERIES },
                "jobs/pipeline": current.pipeline ?? { verdicts: [] }, "results": current.results ?? { results: [] } };
        const key = below ? `${subject}/${below}` : subject;

        if (!(key in answers))
                throw new ApiError(404, `this file has no ${path}`);
        return answers[key];
}

export const find = (path) => get(path).catch(() => null);
