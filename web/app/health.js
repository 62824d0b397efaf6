/* SPDX-License-Identifier: Apache-2.0 */
/* perfd itself: what it costs, its store, its sources, and what users hold of the limits. */

import { get } from "./api.js";
import { card, command, el, facts, note, pill, table } from "./dom.js";
import { equipmentHealth } from "./equipment.js";
import { bytes, count, figure, percent, plural, seconds, time } from "./format.js";
import { bar, meter } from "../figures/meter.js";

function self(node) {
        const up_s = (node.time_ms - node.started_ms) / 1000, now = node.self;

        return card("perfd itself", null,
                meter("CPU time, of one CPU", now.cpu_seconds / up_s, `${percent(now.cpu_seconds / up_s, 2)}, ${seconds(now.cpu_seconds)}`),
                facts([["Version", node.version], ["Up", seconds(up_s)], ["Memory", bytes(now.resident_bytes)], ["Open files", count(now.open_fds)],
                        ["Samples", `${figure(now.samples)}, each ${seconds(node.interval_ms / 1000)}`], ["Missed", figure(now.samples_missed)], ["Latest by", seconds(now.lateness_max_seconds)]]));
}

function store(node) {
        const s = node.store;

        return card("Store", null,
                meter(s.directory, s.size_bytes / s.size_limit_bytes, `${bytes(s.size_bytes)} of ${bytes(s.size_limit_bytes)}`, { tone: s.size_bytes > 0.95 * s.size_limit_bytes ? "bad" : "" }),
                el("p", null, s.writable ? pill("takes data", "ok") : pill(`takes no data: ${s.error ?? ""}`, "bad"), " ", s.volatile && pill("in memory only", "odd"), " ",
                        s.damage && pill("was damaged", "bad"), " ", s.sync_error && pill(`cannot sync: ${s.sync_error}`, "bad")),
                s.damage && note(s.damage), s.salvage && note(s.salvage),
                facts([["Waiting rows", figure(s.queue_rows)], ["Failed syncs", figure(s.sync_failures)], ["Damaged files", figure(s.damaged_files)], ["Rows salvaged", figure(s.rows_salvaged)]]));
}

function configuration(node) {
        const c = node.configuration;
        const problems = [["not in force", c.error], ["waits for a restart", c.restart], ["without effect", c.ignored], ["edited and not reloaded", c.edited], ["unknown users or groups", c.unknown_names]]
                .filter(([, text]) => text);

        return card("Configuration", null,
                problems.length ? problems.map(([what, text]) => el("p", null, pill(what, "bad"), " ", text)) : el("p", null, pill("in force", "ok")),
                facts([["Read", time(c.read_ms)], ["HTTP", node.http.address ?? node.http.listen], ["HTTP error", node.http.error],
                        ["Counter resets", figure(node.events.counter_resets)], ["Gaps", figure(node.events.gaps)], ["Clock steps", figure(node.events.clock_steps)]]));
}

function sources(node) {
        return card("Sources", null, table([
                { head: "File", row: true, class: "file", cell: (s) => el("code", null, `/${s.path}`) },
                { head: "", cell: (s) => (s.up ? pill("read", "ok") : pill("not read", s.failures ? "bad" : "odd")) },
                { head: "Failures", class: "number", cell: (s) => figure(s.failures) },
                { head: "Reason", cell: (s) => s.error ?? "" },
        ], node.sources, { caption: "Sources", attributes: (s) => ({ class: !s.up && s.failures ? "bad" : null }) }));
}

function quota(answer) {
        const of = (user, resource) => user.resources.find((r) => r.name === resource);
        const amount = (r, v) => (units.get(r.name).startsWith("bytes") ? bytes(v) : figure(v));
        const units = new Map(answer.resources.map((r) => [r.name, r.unit]));
        const shown = answer.resources.filter((r) => r.held > 0 || r.refused > 0);

        return card("Shares of users", null, shown.length === 0 ? note("Nobody holds anything of the limits.") : table([
                { head: "Resource", row: true, cell: (r) => r.name },
                { head: "Held of the limit", class: "share", cell: (r) => [`${amount(r, r.held)} of ${amount(r, r.limit)}`, bar(r.held / r.limit, { label: r.name })] },
                { head: "Users", class: "number", cell: (r) => count(r.users) },
                { head: "Refused", class: "number", cell: (r) => (r.refused > 0 ? el("b", { class: "bad" }, figure(r.refused)) : "0") },
                { head: "Who", class: "labels", cell: (r) => answer.users.filter((u) => of(u, r.name)?.held > 0 || of(u, r.name)?.refused > 0)
                        .map((u) => el("span", { class: "chip" }, `${u.user}${u.administrator ? " (administrator)" : ""}: ${amount(r, of(u, r.name).held)} of ${amount(r, of(u, r.name).share)}`)) },
        ], shown, { caption: "Shares" }), note(`${plural(answer.resources.length, "limit")}; those that nobody uses are not shown.`));
}

/* Bytes of the database by user, most first. */
function keepers(answer) {
        const held = (user) => user.resources.find((r) => r.name === "max_size");
        const users = answer.users.filter((u) => held(u)?.held > 0).sort((a, b) => held(b).held - held(a).held);

        return card("Who uses the store", null, users.length ? table([
                { head: "User", row: true, cell: (u) => `${u.user}${u.administrator ? " (administrator)" : ""}` },
                { head: "Stored", class: "share wide-share", cell: (u) => [bytes(held(u).held), bar(held(u).held / held(users[0]).held, { label: `stored by ${u.user}` })] },
                { head: "May store", class: "number", cell: (u) => bytes(held(u).share) },
                { head: "Refused", class: "number", cell: (u) => figure(held(u).refused) },
        ], users, { caption: "Who uses the store" }) : note("Nobody has stored anything yet."), note("To remove what a user stored more than 30 days ago:"), command("perfctl db forget --user NAME --before 30d"));
}

export async function show(at) {
        const body = el("div", { class: "grid" });
        const { jobs } = await get("jobs", { limit: 200 }, at.signal).catch(() => ({ jobs: [] })); /* shares know no names */
        const names = new Map(jobs.map((j) => [j.uid, j.user]));

        async function update(node) {
                const answer = await get("quota", {}, at.signal);

                for (const user of answer.users)
                        user.user = names.get(user.uid) || user.user;
                body.replaceChildren(...[self(node), store(node), keepers(answer), configuration(node), sources(node), equipmentHealth(node.latest), quota(answer)].filter(Boolean));
        }

        await update(at.node);
        return { title: "Health", update, element: el("div", null, el("h1", null, "Health of perfd"), body) };
}
