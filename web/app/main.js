/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the view that the URL names, and refreshes it while somebody looks. */

import { get, ApiError } from "./api.js";
import { el, empty, keepPlace, link, pill } from "./dom.js";
import { failures } from "./equipment.js";
import { cut, seconds } from "./format.js";
import { build, ofPath, parse } from "./url.js";
import * as node from "./node.js";
import * as jobs from "./jobs.js";
import * as job from "./job.js";
import * as compare from "./compare.js";
import * as kpis from "./kpis.js";
import * as pipelines from "./pipelines.js";
import * as indicators from "./indicators.js";
import * as health from "./health.js";

/* show({ argument, params, signal, node }) returns { title, element, update, live, end }: update(node), if there is one, is called every few
 * seconds, live(sample) for each sample that comes as an event, and end() when another view opens. tab: the entry in the menu; of: the entry under which a view without one is. */
const VIEWS = {
        node: { show: node.show, tab: "Node" },
        jobs: { show: jobs.show, tab: "Jobs" },
        job: { show: job.show, of: "jobs" },
        compare: { show: compare.show, of: "jobs" },
        kpis: { show: kpis.showList, tab: "KPIs" },
        kpi: { show: kpis.showOne, of: "kpis" },
        pipelines: { show: pipelines.show, tab: "Pipelines" },
        indicators: { show: indicators.showList, tab: "Indicators" },
        indicator: { show: indicators.showOne, of: "indicators" },
        health: { show: health.show, tab: "Health" },
};
const REFRESH_MS = 3000;
const RETRY_MS = 2000;
const BUSY_MS = 10000; /* perfd answers, but a query took too long */
const LIVE_MS = 10000; /* of a view that gets samples as events */
const REFUSED_MS = 30000; /* until a stream is asked for again */
const JUMP_MS = 30000;

const view = document.getElementById("view");
const banner = document.getElementById("banner");
let current = null; /* { view, update, abort, title } */
let timer = 0;
let state = null; /* of the node */
let stream = null; /* of events; refusedAt: when there was none left */
let refusedAt = -REFUSED_MS;
let heard = { at: -LIVE_MS, time_ms: 0 }; /* the last event */

function showBanner(text) {
        banner.hidden = !text;
        banner.textContent = cut(text, 400);
}

/* What is wrong with perfd, as perfctl status says, or with the node, in words. A kernel may have no pressure, and an image of a file
 * system is always full. */
function illness({ store, http, configuration, sources, latest }) {
        const root = latest.filesystems.find((fs) => fs.mountpoint === "/");

        return [
                !store.writable && `the store takes no data: ${store.error ?? "not writable"}`,
                store.sync_error && `the store cannot be synced: ${store.sync_error}`,
                http.error && `HTTP: ${http.error}`,
                configuration.error && "the configuration is not in force",
                ...sources.filter((s) => !s.up && s.failures > 0 && !s.name.startsWith("psi_")).map((s) => `cannot read /${s.path}`),
                ...failures(latest),
                root?.used_ratio > 0.98 && "the file system / is full",
                latest.memory_used_ratio > 0.97 && "memory is full",
        ].filter(Boolean);
}

async function readNode(signal) {
        state = await get("node", {}, signal);
        const ill = illness(state);

        document.getElementById("host").textContent = state.hostname;
        document.getElementById("about").textContent = `perfd ${state.version}`;
        document.getElementById("pulse").replaceChildren(ill.length ? pill(`ill: ${ill[0]}`, "bad") : pill("healthy", "ok"));
        document.getElementById("pulse").title = ill.join("; ");
        setTitle();
        return state;
}

function setTitle() {
        const parts = [current?.title, state?.hostname, "perfd"].filter(Boolean);

        document.title = `${state && illness(state).length ? "⚠ ill: " : ""}${parts.map((p) => cut(p, 120)).join(" · ")}`; /* no element, so that nothing else makes it safe */
}

function describe(error, at) {
        const back = VIEWS[at.view]?.of ?? "node";

        if (error.status === 404)
                return empty("Not found", cut(error.message, 600), link(build(back), `Back to ${VIEWS[back].tab}`));
        return empty(error instanceof ApiError ? "perfd cannot answer this" : "This page failed", cut(error.message, 600),
                el("button", { type: "button", onclick: () => open() }, "Try again"));
}

const isAway = (error) => error instanceof ApiError && (error.status === 0 || error.status === 503);
const awayText = (error) => (error.status === 503 ? error.message : "perfd is away, trying again");

/* What was true of the node before is not said of it now. */
function showAway(error) {
        showBanner(awayText(error));
        if (error.status === 0)
                document.getElementById("pulse").replaceChildren(pill("no answer", "odd"));
}

/* update() returns what it changes of the view, such as { update: null } at the end of a job. */
async function refresh(mine, update, what) {
        const putBack = keepPlace(view);

        Object.assign(mine, await update?.(what));
        putBack(); /* also where another view is read: this one stays until then */
}

/* Where the stream goes on after a computer slept or a clock was set, the view is opened anew. */
function onSample(event) {
        const sample = JSON.parse(event.data), at = performance.now(), time_ms = sample.times_ms[0];
        const jump_ms = time_ms - heard.time_ms - (at - heard.at), isJump = heard.time_ms > 0 && Math.abs(jump_ms) > JUMP_MS;

        heard = { at, time_ms };
        if (isJump)
                open().then(() => showBanner(`Time has jumped by ${seconds(Math.abs(jump_ms) / 1000)}: a computer slept, or a clock was set`));
        else if (current?.live)
                refresh(current, current.live, sample).catch(() => null); /* the next refresh says what is wrong */
}

/* A hidden page has no stream. The browser connects again by itself, unless perfd refuses. */
function listen() {
        const isWanted = !document.hidden && current?.live;

        if (!isWanted || stream?.readyState === 2) {
                refusedAt = isWanted ? performance.now() : refusedAt;
                stream?.close();
                stream = null;
        } else if (!stream && performance.now() - refusedAt > REFUSED_MS) {
                stream = new EventSource("api/v1/events");
                stream.addEventListener("sample", onSample);
        }
}

const refreshMs = () => (stream && performance.now() - heard.at < LIVE_MS ? LIVE_MS : REFRESH_MS);

function schedule(ms) {
        listen();
        clearTimeout(timer);
        if (!document.hidden)
                timer = setTimeout(tick, ms);
}

async function tick() {
        const mine = current;

        try {
                if (!mine?.element)
                        return await open();
                await readNode(mine.abort.signal);
                await refresh(mine, mine.update, state);
                showBanner("");
                schedule(refreshMs());
        } catch (error) {
                if (mine !== current || error.name === "AbortError")
                        return;
                if (isAway(error))
                        showAway(error);
                else
                        showBanner(error.message);
                schedule(error.status === 0 ? RETRY_MS : REFRESH_MS);
        }
}

function markTab(name) {
        for (const a of document.querySelectorAll("#nav a"))
                a.toggleAttribute("aria-current", a.dataset.view === name);
        for (const a of document.querySelectorAll("#nav a[aria-current]"))
                a.setAttribute("aria-current", "page");
}

async function open() {
        const at = parse(location.hash);
        const known = VIEWS[at.view];
        const mine = { abort: new AbortController(), title: known?.tab ?? "" };
        const isSame = current?.at?.view === at.view && current.at.argument === at.argument;

        current?.abort.abort();
        current?.end?.();
        current = mine;
        clearTimeout(timer);
        markTab(known?.of ?? at.view);
        try {
                if (!known)
                        throw new ApiError(404, `there is no page '${at.view}'`);
                await readNode(mine.abort.signal);
                const shown = await known.show({ ...at, signal: mine.abort.signal, node: state });

                if (mine !== current)
                        return;
                const putBack = keepPlace(view);

                Object.assign(mine, shown, { at });
                view.replaceChildren(shown.element);
                view.dataset.shown = location.hash;
                showBanner("");
                if (isSame)
                        putBack();
                else {
                        scrollTo(0, 0);
                        view.focus({ preventScroll: true });
                }
        } catch (error) {
                if (mine !== current || error.name === "AbortError")
                        return;
                if (error.status === 0 && error instanceof ApiError) {
                        showAway(error);
                        schedule(RETRY_MS);
                        return;
                }
                view.replaceChildren(describe(error, at));
                view.dataset.shown = location.hash;
                if (error.status === 503) { /* opened again soon */
                        schedule(BUSY_MS);
                        return;
                }
                mine.at = at;
                mine.element = view.firstChild;
        }
        setTitle();
        schedule(REFRESH_MS);
}

/* A path of earlier versions, or one that does not exist: the base of the page says how deep it is. */
function readPath() {
        const path = location.href.slice(document.baseURI.length).split(/[?#]/)[0];
        const hash = ofPath(path, location.search);

        if (hash)
                location.replace(document.baseURI + hash);
        else if (path)
                location.replace(`${document.baseURI}${build("missing", path)}`);
        return Boolean(path);
}

function start() {
        document.getElementById("nav").append(...Object.entries(VIEWS).filter(([, v]) => v.tab)
                .map(([name, v]) => el("a", { href: build(name), "data-view": name }, v.tab)));
        addEventListener("hashchange", open);
        addEventListener("keydown", (event) => {
                const field = event.key === "/" && !event.target.closest("input, select") && view.querySelector("input[type=search]");

                if (field) {
                        event.preventDefault();
                        field.focus();
                }
        });
        document.addEventListener("visibilitychange", () => {
                clearTimeout(timer);
                listen();
                if (!document.hidden)
                        tick();
        });
        open();
}

if (!readPath())
        start();
