/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/energy_shares.h"

#include <string.h>

#define US_PER_TICK (1000000 / TICKS_PER_S)

static bool has_meters(const Totals *totals) {
        return totals->have & (1U << SOURCE_ENERGY);
}

static bool has_none(const Totals *totals) {
        return totals->none & (1U << SOURCE_ENERGY);
}

static uint64_t busy_ticks(const Totals *totals) {
        static const Total modes[] = { TOTAL_CPU_USER, TOTAL_CPU_NICE,    TOTAL_CPU_SYSTEM,    TOTAL_CPU_IRQ,
                                       TOTAL_CPU_SOFTIRQ, TOTAL_CPU_GUEST, TOTAL_CPU_GUEST_NICE };
        uint64_t sum = 0;

        for (size_t i = 0; i < N_ELEMENTS(modes); i++)
                sum += totals->value[modes[i]];
        return sum;
}

void energy_shares_begin(EnergyPool *pool, const Totals *totals) {
        *pool = (EnergyPool){ .is_begun = true, .total_uj = totals->value[TOTAL_ENERGY_UJ],
                              .total_ticks = busy_ticks(totals) };
}

/* Energy that could not be read comes with the next reading, and is divided by the CPU time since the last. */
static void fill(EnergyPool *pool, const Totals *totals) {
        const EnergyPool before = *pool;

        energy_shares_begin(pool, totals);
        if (!before.is_begun)
                return;
        pool->energy_uj = before.energy_uj + (pool->total_uj - before.total_uj);
        pool->cpu_us = before.cpu_us + (pool->total_ticks - before.total_ticks) * US_PER_TICK;
}

/* The quotient comes first, so that all of the CPU time has all of the energy. */
static uint64_t share_of(uint64_t energy_uj, uint64_t cpu_us, uint64_t all_us) {
        return all_us > 0 ? (uint64_t)((double)energy_uj * ((double)cpu_us / (double)all_us)) : 0;
}

/* A job cannot use more than the node. The node counts in ticks, and a job that begins late brings the time before. */
static uint64_t cpu_of(const EnergyPool *pool, const Job *job) {
        uint64_t cpu_us = usage_unshared_cpu_us(job->group.usage);

        return cpu_us < pool->cpu_us ? cpu_us : pool->cpu_us;
}

static bool takes_part(const Job *job) {
        return job->group.usage && !job->final;
}

/* True if the cgroup is below that of another job, whose share contains that of this one. */
static bool is_within_job(const Jobs *jobs, const Job *job) {
        char name[CGROUP_NAME_MAX];
        char *slash;

        (void)snprintf(name, sizeof(name), "%s", job->info.cgroup ?: "");
        while ((slash = strrchr(name, '/'))) {
                const Job *above;

                *slash = '\0';
                above = jobs_find_group(jobs, name);
                if (above && takes_part(above))
                        return true;
        }
        return false;
}

/* Gives a job its share of an amount. Returns what is taken from the pool. */
static uint64_t give(const Jobs *jobs, Job *job, uint64_t energy_uj, uint64_t all_us) {
        uint64_t share_uj = share_of(energy_uj, cpu_of(&jobs->energy, job), all_us);

        usage_add_energy(job->group.usage, share_uj);
        if (job->phase && job->phase->has_usage)
                usage_follow_energy(&job->phase->usage, job->group.usage);
        return is_within_job(jobs, job) ? 0 : share_uj;
}

void energy_shares_divide(Jobs *jobs, const Totals *totals) {
        uint64_t sum_us = 0, all_us, energy_uj;
        EnergyPool *pool = &jobs->energy;

        for (Job *job = has_none(totals) ? NULL : jobs->first; job; job = job->links.next)
                if (takes_part(job))
                        usage_begin_energy(job->group.usage, has_meters(totals));
        if (!has_meters(totals))
                return;

        fill(pool, totals);
        for (const Job *job = jobs->first; job; job = job->links.next)
                if (takes_part(job) && !is_within_job(jobs, job))
                        sum_us += cpu_of(pool, job);
        all_us = sum_us > pool->cpu_us ? sum_us : pool->cpu_us;
        energy_uj = pool->energy_uj;
        pool->energy_uj -= share_of(energy_uj, all_us - sum_us, all_us);
        for (Job *job = jobs->first; job; job = job->links.next)
                if (takes_part(job))
                        pool->energy_uj -= give(jobs, job, energy_uj, all_us);
        if (all_us == 0)
                pool->energy_uj = 0;
        pool->cpu_us = 0;
}

void energy_shares_settle(Jobs *jobs, Job *job, const Totals *totals) {
        EnergyPool *pool = &jobs->energy;
        uint64_t cpu_us, taken_uj;

        if (!has_meters(totals) || !takes_part(job))
                return;
        fill(pool, totals);
        cpu_us = cpu_of(pool, job);
        usage_begin_energy(job->group.usage, true);
        taken_uj = give(jobs, job, pool->energy_uj, pool->cpu_us);
        pool->energy_uj -= taken_uj;
        pool->cpu_us -= taken_uj > 0 ? cpu_us : 0;
}
