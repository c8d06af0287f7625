/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lost_work.c - hooks of kai: of a queue's jobs the one loses its place first that loses least work
 * by it. Build it with: cc -std=c11 -shared -fPIC lost_work.c -o lost_work.so */
#include <orrery/policies/kai_hooks.h>

static int64_t lost(const struct orr_host *host, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_progress progress = host->progress(view, job);
    return (progress.done_ms - progress.kept_ms) *
           view->shapes->shapes[view->specs[job].shape].gpus_mgpu;
}

static int victim_order(void *host, const struct orr_view *view, uint32_t a, uint32_t b)
{
    const int64_t lost_a = lost(host, view, a), lost_b = lost(host, view, b);
    return (lost_a > lost_b) - (lost_a < lost_b);
}

ORR_EXPORT const struct orr_kai_hooks *orr_kai_hooks_entry(uint32_t host_abi)
{
    static const struct orr_kai_hooks hooks = {.abi = ORR_KAI_HOOKS_ABI,
                                               .size = sizeof hooks,
                                               .name = "lost_work",
                                               .victim_order = victim_order};
    return host_abi == ORR_KAI_HOOKS_ABI ? &hooks : NULL;
}
