/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON API. Paths are relative to the page: a portal may have put a prefix before them. */

const TIMEOUT_MS = 10000; /* a socket that systemd holds takes connections while perfd is away */
const N_AT_ONCE = 4; /* queries are charged to a user, whose share is limited */

export class ApiError extends Error {
        constructor(status, message) {
                super(message);
                this.status = status; /* 0: no answer */
        }
}

let nRunning = 0;
const waiting = [];

async function take() {
        if (nRunning >= N_AT_ONCE)
                await new Promise((resolve) => waiting.push(resolve));
        nRunning++;
}

function give() {
        nRunning--;
        waiting.shift()?.();
}

function query(params) {
        const text = new URLSearchParams();

        for (const [key, value] of params instanceof URLSearchParams ? params : Object.entries(params))
                for (const item of Array.isArray(value) ? value : [value])
                        if (item !== "" && item !== null && item !== undefined)
                                text.append(key, item);
        return text.size ? `?${text}` : "";
}

/* path: "jobs/ID", below api/v1/ */
export async function get(path, params = {}, signal = undefined) {
        await take();
        try {
                const answer = await fetch(`api/v1/${path}${query(params)}`, { signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]), headers: { Accept: "application/json" } });
                const body = await answer.json().catch(() => null);

                if (!answer.ok)
                        throw new ApiError(body?.error ? answer.status : 0, body?.error?.message ?? `HTTP status ${answer.status}`);
                return body;
        } catch (error) {
                throw error instanceof ApiError || error.name === "AbortError" ? error : new ApiError(0, "no answer");
        } finally {
                give();
        }
}

/* null where there is none */
export const find = (...args) => get(...args).catch((error) => {
        if (error.status === 404)
                return null;
        throw error;
});

export const name = (text) => encodeURIComponent(text);

const SLOWLY_MS = 30000;

/* An update that costs perfd much, or whose numbers change seldom. */
export function slowly(update) {
        let at = performance.now();

        return async () => {
                if (performance.now() - at < SLOWLY_MS)
                        return;
                at = performance.now();
                await update();
        };
}
