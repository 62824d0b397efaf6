/* SPDX-License-Identifier: Apache-2.0 */
#include "client/processes/group_ledger.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "util/array.h"
#include "util/scoped.h"

void group_ledger_deinit(GroupLedger *ledger) {
        for (size_t i = 0; i < ledger->n_groups; i++)
                free(ledger->groups[i]);
        free(ledger->groups);
        free(ledger->now.items);
        free(ledger->before.items);
}

/* --- readings ------------------------------------------------------------------------------------- */

static int compare_pids(const void *a, const void *b) {
        const LedgerProcess *x = a, *y = b;

        return x->usage.pid < y->usage.pid ? -1 : x->usage.pid > y->usage.pid;
}

static LedgerProcess *find_pid(const LedgerReading *reading, pid_t pid) {
        if (reading->n == 0)
                return NULL;
        return bsearch(&(LedgerProcess){ .usage.pid = pid }, reading->items, reading->n, sizeof(*reading->items), compare_pids);
}

/* Finds the same process in another reading. */
static LedgerProcess *find_same(const LedgerReading *reading, const ProcessUsage *usage) {
        LedgerProcess *process = find_pid(reading, usage->pid);

        return process && process->usage.start_ticks == usage->start_ticks ? process : NULL;
}

static int add_process(LedgerReading *reading, const ProcessUsage *usage) {
        if (ARRAY_RESERVE(reading->items, reading->n_allocated, reading->n + 1) < 0)
                return -ENOMEM;
        reading->items[reading->n++] = (LedgerProcess){ .usage = *usage };
        return 0;
}

/* Sorts by pid. A process that moved to another group below the job's while the lists were read is in two of them. */
static void sort_reading(LedgerReading *reading) {
        size_t n = 0;

        if (reading->n > 0)
                qsort(reading->items, reading->n, sizeof(*reading->items), compare_pids);
        for (size_t i = 0; i < reading->n; i++)
                if (n == 0 || reading->items[n - 1].usage.pid != reading->items[i].usage.pid)
                        reading->items[n++] = reading->items[i];
        reading->n = n;
}

/* A process that exists but is not in /proc, because of the mount option hidepid. */
static bool is_of_another_user(pid_t pid) {
        return kill(pid, 0) < 0 && errno == EPERM;
}

static int read_members(GroupLedger *ledger, const CgroupMembers *members) {
        UsageParts parts = ledger->reads_pages ? USAGE_PAGES : USAGE_IO;
        ProcessUsage usage;
        int r;

        ledger->n_hidden = 0;
        for (size_t i = 0; i < members->n; i++) {
                r = process_usage_read(ledger->proc_fd, members->pids[i], parts, &usage);
                if (r == 0)
                        r = add_process(&ledger->now, &usage);
                if (r == -EACCES || r == -EPERM || (r == PROCESS_USAGE_GONE && is_of_another_user(members->pids[i])))
                        ledger->n_hidden++;
                else if (r < 0)
                        return r;
        }
        sort_reading(&ledger->now);
        return 0;
}

/* Reads processes that have ended and for which no process has waited yet: the list of a control group lacks them. */
static int read_zombies(GroupLedger *ledger) {
        size_t n = ledger->now.n;
        ProcessUsage usage;
        int r;

        for (size_t i = 0; i < ledger->before.n; i++) {
                const ProcessUsage *old = &ledger->before.items[i].usage;
                LedgerReading sorted = { .items = ledger->now.items, .n = n };

                if (find_pid(&sorted, old->pid))
                        continue;
                r = process_usage_read(ledger->proc_fd, old->pid, USAGE_IO, &usage);
                if (r == 0 && usage.is_zombie && usage.start_ticks == old->start_ticks)
                        r = add_process(&ledger->now, &usage);
                if (r < 0)
                        return r;
        }
        sort_reading(&ledger->now);
        return 0;
}

/* --- parents that wait while the reading is taken ------------------------------------------------- */

/*
 * Finds the nearest process above, in the reading before, that was there in both readings. NULL: none, or the circle that a reused pid can
 * make.
 */
static LedgerProcess *find_heir(const GroupLedger *ledger, const ProcessUsage *of) {
        const LedgerProcess *above = find_pid(&ledger->before, of->parent);

        for (size_t i = 0; i < ledger->before.n && above; i++) {
                LedgerProcess *now = find_same(&ledger->now, &above->usage);

                if (now)
                        return now;
                above = find_pid(&ledger->before, above->usage.parent);
        }
        return NULL;
}

static bool has_taken(const LedgerProcess *now, const LedgerProcess *before) {
        for (size_t k = 0; k < N_USAGE_COUNTERS; k++)
                if (now->usage.taken[k] != before->usage.taken[k])
                        return true;
        return false;
}

/* Removes children that have ended since they were read. Returns their number. */
static size_t drop_ended_children(GroupLedger *ledger, pid_t parent) {
        size_t n_ended = 0;

        for (size_t i = 0; i < ledger->now.n; i++) {
                LedgerProcess *child = &ledger->now.items[i];
                ProcessUsage look;

                if (child->usage.parent != parent || child->is_dropped)
                        continue;
                child->is_dropped = process_usage_read(ledger->proc_fd, child->usage.pid, USAGE_STAT, &look) != 0 ||
                                    look.start_ticks != child->usage.start_ticks;
                n_ended += child->is_dropped;
        }
        return n_ended;
}

#define SETTLE_TRIES 100U

/*
 * Reads a parent again until none of its children ended after it was read: what it has taken over is then of children that are not in the
 * reading. The kernel adds the usage to the parent before it removes the child.
 */
static void settle(GroupLedger *ledger, LedgerProcess *parent) {
        for (unsigned i = 0; i < SETTLE_TRIES; i++) {
                ProcessUsage usage;

                if (process_usage_read(ledger->proc_fd, parent->usage.pid, USAGE_IO, &usage) != 0 ||
                    usage.start_ticks != parent->usage.start_ticks) {
                        parent->is_dropped = true;
                        return;
                }
                usage.pss_bytes = parent->usage.pss_bytes;
                usage.private_bytes = parent->usage.private_bytes;
                usage.pages_error = parent->usage.pages_error;
                parent->usage = usage;
                if (drop_ended_children(ledger, usage.pid) == 0)
                        return;
        }
}

/* Marks all ancestors of an ended process: one of them waits for the process, or for its remaining children. */
static void mark_heirs(const GroupLedger *ledger, const ProcessUsage *ended) {
        LedgerProcess *heir = find_heir(ledger, ended);

        for (size_t i = 0; i < ledger->now.n && heir; i++) {
                heir->is_heir = true;
                heir = find_heir(ledger, &find_same(&ledger->before, &heir->usage)->usage);
        }
}

static void settle_parents(GroupLedger *ledger) {
        size_t n = 0;

        for (size_t i = 0; i < ledger->before.n; i++) {
                LedgerProcess *before = &ledger->before.items[i], *now = find_same(&ledger->now, &before->usage);

                if (now)
                        now->is_heir |= has_taken(now, before);
                else
                        mark_heirs(ledger, &before->usage);
        }
        for (size_t i = 0; i < ledger->now.n; i++)
                if (ledger->now.items[i].is_heir && !ledger->now.items[i].is_dropped)
                        settle(ledger, &ledger->now.items[i]);

        for (size_t i = 0; i < ledger->now.n; i++)
                if (!ledger->now.items[i].is_dropped)
                        ledger->now.items[n++] = ledger->now.items[i];
        ledger->now.n = n;
}

/* --- groups --------------------------------------------------------------------------------------- */

static int find_group(GroupLedger *ledger, pid_t id, LedgerGroup **ret) {
        LedgerGroup *group;

        for (size_t i = 0; i < ledger->n_groups; i++)
                if (ledger->groups[i]->id == id && !ledger->groups[i]->is_ended) {
                        *ret = ledger->groups[i];
                        return 0;
                }

        if (ARRAY_RESERVE(ledger->groups, ledger->n_groups_allocated, ledger->n_groups + 1) < 0)
                return -ENOMEM;
        group = calloc(1, sizeof(*group));
        if (!group)
                return -ENOMEM;
        group->id = id;
        group->rank = (ProcessRank){ -1, -1 };
        *ret = ledger->groups[ledger->n_groups++] = group;
        return 0;
}

static void read_rank(const GroupLedger *ledger, LedgerGroup *group, pid_t pid) {
        ProcessRank rank = process_usage_read_rank(ledger->proc_fd, pid);

        if (group->rank.rank < 0 && group->rank.local_rank < 0)
                group->rank = rank;
        else if (rank.rank >= 0 || rank.local_rank >= 0)
                group->has_ranks |= rank.rank != group->rank.rank || rank.local_rank != group->rank.local_rank;
}

/* Finds the group of each process. A leader's program may change, and with it its environment. */
static int assign_groups(GroupLedger *ledger) {
        for (size_t i = 0; i < ledger->now.n; i++) {
                LedgerProcess *process = &ledger->now.items[i], *before = find_same(&ledger->before, &process->usage);
                bool is_same = before && before->usage.group == process->usage.group;

                if (is_same)
                        process->group = before->group;
                else if (find_group(ledger, process->usage.group, &process->group) < 0)
                        return -ENOMEM;
                if (!process->usage.is_zombie &&
                    (!is_same || (process->group->rank.rank < 0 && process->usage.pid == process->usage.group)))
                        read_rank(ledger, process->group, process->usage.pid);
        }
        return 0;
}

/* --- accounts ------------------------------------------------------------------------------------- */

/* Keeps the usage of the process in its group. If the process still exists, its new group does not get this part. */
static void carry(LedgerProcess *process, LedgerGroup *to) {
        for (size_t k = 0; k < N_USAGE_COUNTERS; k++) {
                process->group->carried[k] += (int64_t)process->usage.used[k];
                if (to)
                        to->carried[k] -= (int64_t)process->usage.used[k];
        }
}

/* Notes that the usage of an ended process may be in that of its heir. */
static void owe(GroupLedger *ledger, const LedgerProcess *ended) {
        LedgerProcess *heir = find_heir(ledger, &ended->usage);

        for (size_t k = 0; k < N_USAGE_COUNTERS && heir; k++)
                heir->owed[k] += ended->usage.used[k];
        if (ended->usage.io_error != 0)
                ended->group->lost_error = ended->usage.io_error;
}

/* A process that changed its credentials hides its I/O; its last count is kept. */
static void keep_hidden(LedgerProcess *now, const LedgerProcess *before) {
        if (now->usage.io_error == 0)
                return;
        for (size_t k = USAGE_READ; k <= USAGE_WRITTEN; k++) {
                now->usage.used[k] = before->usage.used[k];
                now->usage.taken[k] = before->usage.taken[k];
        }
}

/* Subtracts from the usage of a process the part that is already counted. Returns true if a rest remains, which an ancestor owes. */
static bool pay(GroupLedger *ledger, LedgerProcess *now) {
        const LedgerProcess *before = find_same(&ledger->before, &now->usage);
        bool is_left = false;
        LedgerProcess *above;

        if (!before)
                return false;
        above = find_heir(ledger, &before->usage);
        for (size_t k = 0; k < N_USAGE_COUNTERS; k++) {
                uint64_t unpaid = now->usage.taken[k] - before->usage.taken[k] - now->paid[k];
                uint64_t n = unpaid < now->owed[k] ? unpaid : now->owed[k];

                now->group->carried[k] -= (int64_t)n;
                now->paid[k] += n;
                now->owed[k] -= n;
                if (above && now->owed[k] > 0) {
                        above->owed[k] += now->owed[k];
                        is_left = true;
                }
                now->owed[k] = 0;
        }
        return is_left;
}

/*
 * A process whose parent ended becomes a child of one further above, a subreaper or the init process, which then waits for it. So what a
 * process owes and has not taken over is owed by the next above.
 */
static void pay_debts(GroupLedger *ledger) {
        bool is_left = true;

        for (size_t pass = 0; pass <= ledger->now.n && is_left; pass++) {
                is_left = false;
                for (size_t i = 0; i < ledger->now.n; i++)
                        is_left |= pay(ledger, &ledger->now.items[i]);
        }
}

static void settle_accounts(GroupLedger *ledger) {
        for (size_t i = 0; i < ledger->before.n; i++) {
                LedgerProcess *before = &ledger->before.items[i], *now = find_same(&ledger->now, &before->usage);

                if (now) {
                        keep_hidden(now, before);
                        if (now->group != before->group)
                                carry(before, now->group);
                        continue;
                }
                carry(before, NULL);
                owe(ledger, before);
        }

        pay_debts(ledger);
}

static void add_to_group(LedgerGroup *group, const ProcessUsage *usage) {
        bool is_leader = usage->pid == usage->group;

        if (is_leader || group->name[0] == '\0')
                memcpy(group->name, usage->name, sizeof(group->name));
        group->is_ended = false;
        group->has_leader |= is_leader && !usage->is_zombie;
        group->n_processes += !usage->is_zombie;
        for (size_t k = 0; k < N_USAGE_COUNTERS; k++)
                group->total[k] += usage->used[k];
        group->rss_bytes += usage->rss_bytes;
        group->pss_bytes += usage->pss_bytes;
        group->private_bytes += usage->private_bytes;
        group->io_error = group->io_error ?: usage->io_error;
        group->pages_error = group->pages_error ?: usage->pages_error;
}

static void sum_groups(GroupLedger *ledger) {
        for (size_t i = 0; i < ledger->n_groups; i++) {
                LedgerGroup *group = ledger->groups[i];

                memcpy(group->last, group->total, sizeof(group->last));
                memset(group->total, 0, sizeof(group->total));
                group->has_leader = false;
                group->is_ended = true;
                group->n_processes = group->rss_bytes = group->pss_bytes = group->private_bytes = 0;
                group->io_error = group->pages_error = 0;
        }
        for (size_t i = 0; i < ledger->now.n; i++)
                add_to_group(ledger->now.items[i].group, &ledger->now.items[i].usage);

        for (size_t i = 0; i < ledger->n_groups; i++) {
                LedgerGroup *group = ledger->groups[i];

                for (size_t k = 0; k < N_USAGE_COUNTERS; k++) {
                        int64_t total = (int64_t)group->total[k] + group->carried[k];

                        group->total[k] = total > (int64_t)group->last[k] ? (uint64_t)total : group->last[k];
                }
        }
}

/* --- groups that have ended ----------------------------------------------------------------------- */

static void fold(LedgerGroup *into, const LedgerGroup *group) {
        for (size_t k = 0; k < N_USAGE_COUNTERS; k++) {
                into->carried[k] += (int64_t)group->total[k];
                into->total[k] += group->total[k];
                into->last[k] += group->last[k];
        }
        into->lost_error = into->lost_error ?: group->lost_error;
}

/* Bounds the number of groups. The sum of the first is itself the first. */
static int fold_ended(GroupLedger *ledger) {
        size_t n_ended = 0, n_left = 0;
        LedgerGroup *sum;
        int r;

        for (size_t i = 0; i < ledger->n_groups; i++)
                n_ended += ledger->groups[i]->is_ended;
        if (n_ended <= LEDGER_ENDED_MAX)
                return 0;

        sum = ledger->groups[0];
        if (sum->id != LEDGER_GROUP_SUM) {
                r = find_group(ledger, LEDGER_GROUP_SUM, &sum);
                if (r < 0)
                        return r;
                memmove(ledger->groups + 1, ledger->groups, (ledger->n_groups - 1) * sizeof(*ledger->groups));
                ledger->groups[0] = sum;
        }
        sum->is_ended = true;
        for (size_t i = 0; i < ledger->n_groups; i++) {
                LedgerGroup *group = ledger->groups[i];

                if (i > 0 && group->is_ended && n_ended > LEDGER_ENDED_MAX / 2) {
                        fold(sum, group);
                        free(group);
                        n_ended--;
                } else
                        ledger->groups[n_left++] = group;
        }
        ledger->n_groups = n_left;
        return 0;
}

int group_ledger_update(GroupLedger *ledger, const CgroupMembers *members) {
        LedgerReading before = ledger->before;
        int r;

        ledger->before = ledger->now;
        ledger->now = before;
        ledger->now.n = 0;

        r = fold_ended(ledger);
        if (r < 0 || (r = read_members(ledger, members)) < 0 || (r = read_zombies(ledger)) < 0)
                return r;
        settle_parents(ledger);
        r = assign_groups(ledger);
        if (r < 0)
                return r;
        settle_accounts(ledger);
        sum_groups(ledger);
        ledger->n_readings++;
        return 0;
}
