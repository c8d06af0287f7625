/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fgd.c - the fragmentation of a cluster as pods come, as the authors of FGD computed it.
 *
 *   fgd NODES PODS PLACES CURVE TABLE
 *
 * NODES: number,cpu_milli,gpus a line. PODS: cpu_milli,gpus,gpu_milli in order of arrival; the
 * first 8152 are the trace. PLACES: node,devices of each pod, devices as "0-3", "-": none, node -1:
 * it found no place. CURVE: after so many pods, allocated milli-GPU and fragmentation. TABLE: of
 * each percentage of the cluster that was asked for, percent allocated and unusable (-1: not
 * given), the means over the pods at that rounded percentage. Places that are not possible, and
 * values that differ by more than their rounding, are told; exit 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <orrery/base/mem.h>
#include <orrery/core/fragment.h>

#define NODES     1213
#define MOST_GPUS 8
#define PODS      10866
#define TRACE     8152
#define ROUNDING  0.0051  /* of two decimals */
#define TABLE     0.011   /* of means of rounded values */
#define CLUSTER   6212000 /* milli-GPU */
#define LEVELS    140

struct level {             /* pods at a percentage of the cluster that was asked for */
    double used, unusable; /* percent, summed */
    long pods;
};

struct node {
    long number;
    struct orr_node_type type;
    int16_t free_mgpu[MOST_GPUS];
    int64_t cpu_milli, fragment;
};

static struct node nodes[NODES];
static struct orr_request pods[PODS];
static struct level levels[LEVELS];

static _Noreturn void fail(const char *what, long at)
{
    printf("%s %ld\n", what, at);
    exit(1);
}

static FILE *open_list(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail(path, 0);
    }
    return file;
}

static void read_nodes(const char *path)
{
    FILE *file = open_list(path);
    for (long n = 0; n < NODES; n++) {
        long cpu, gpus;
        if (fscanf(file, "%ld,%ld,%ld\n", &nodes[n].number, &cpu, &gpus) != 3 || gpus > MOST_GPUS) {
            fail("node", n);
        }
        nodes[n].type.gpus = (uint32_t)gpus;
        nodes[n].cpu_milli = cpu;
        for (long d = 0; d < gpus; d++) {
            nodes[n].free_mgpu[d] = ORR_MGPU;
        }
    }
    (void)fclose(file);
}

static void read_pods(const char *path)
{
    FILE *file = open_list(path);
    for (long p = 0; p < PODS; p++) {
        long cpu, gpus, milli;
        if (fscanf(file, "%ld,%ld,%ld\n", &cpu, &gpus, &milli) != 3) {
            fail("pod", p);
        }
        pods[p] = (struct orr_request){.gpu_ask = gpus == 0       ? ORR_GPU_NONE
                                                  : milli == 1000 ? ORR_GPU_WHOLE
                                                                  : ORR_GPU_FRACTION,
                                       .devices = (uint32_t)gpus,
                                       .portion = milli == 1000 ? 0 : milli,
                                       .cpu_milli = cpu,
                                       .gpu_model = ORR_NONE};
    }
    (void)fclose(file);
}

static int64_t fragment(const struct orr_typical *typical, const struct node *node)
{
    return orr_fragment_sum(
        typical, &(struct orr_left){&node->type, node->free_mgpu, node->cpu_milli}, NULL);
}

/* Returns the milli-GPU that the pod took. */
static int64_t place(struct node *node, const struct orr_request *request, const char *devices,
                     long pod)
{
    int64_t portion = request->gpu_ask == ORR_GPU_WHOLE ? ORR_MGPU : request->portion, taken = 0;
    node->cpu_milli -= request->cpu_milli;
    while (request->devices > 0 && *devices != '\0') {
        char *end;
        long d = strtol(devices, &end, 10);
        if (end == devices || d < 0 || d >= (long)node->type.gpus || node->free_mgpu[d] < portion) {
            fail("impossible place of pod", pod);
        }
        node->free_mgpu[d] = (int16_t)(node->free_mgpu[d] - portion);
        taken += portion;
        devices = *end == '-' ? end + 1 : end;
    }
    if (node->cpu_milli < 0 || taken != portion * (int64_t)request->devices) {
        fail("impossible place of pod", pod);
    }
    return taken;
}

static struct node *find(long number)
{
    for (size_t n = 0; n < NODES; n++) {
        if (nodes[n].number == number) {
            return &nodes[n];
        }
    }
    return NULL;
}

static double percent(double mgpu)
{
    return round(10000.0 * mgpu / CLUSTER) / 100.0;
}

static void note_level(int64_t arrived, int64_t used, double unusable)
{
    long x = lround((double)arrived / (CLUSTER / 100.0));
    if (x < LEVELS) {
        levels[x].used += percent((double)used);
        levels[x].unusable += percent(unusable);
        levels[x].pods++;
    }
}

/* Returns how many values were compared, or -1: some differ. */
static long compare_table(const char *path)
{
    FILE *table = open_list(path);
    long x, compared = 0;
    double used, unusable;
    bool equal = true;
    while (fscanf(table, "%ld,%lf,%lf\n", &x, &used, &unusable) == 3) {
        const struct level *level = &levels[x];
        double have = level->used / (double)level->pods;
        double fragments = level->unusable / (double)level->pods;
        if (fabs(have - used) > TABLE || (unusable >= 0 && fabs(fragments - unusable) > TABLE)) {
            printf("at %ld %%: %.3f %% allocated, %.3f %% unusable; published %.2f, %.2f\n", x,
                   have, fragments, used, unusable);
            equal = false;
        }
        compared += unusable >= 0 ? 2 : 1;
    }
    (void)fclose(table);
    return equal ? compared : -1;
}

int main(int argc, char **argv)
{
    struct orr_typical typical = {0};
    if (argc != 6) {
        fail("wrong use", argc);
    }
    read_nodes(argv[1]);
    read_pods(argv[2]);
    FILE *places = open_list(argv[3]), *curve = open_list(argv[4]);
    for (size_t p = 0; p < TRACE; p++) {
        orr_typical_add(&typical, &pods[p], 1);
    }
    orr_typical_choose(&typical, NULL);
    int64_t used = 0, sum = 0, arrived = 0;
    for (size_t n = 0; n < NODES; n++) {
        nodes[n].fragment = fragment(&typical, &nodes[n]);
        sum += nodes[n].fragment;
    }
    long compared = 0, at, wanted_used, failed = 0;
    double wanted;
    int more = fscanf(curve, "%ld,%ld,%lf\n", &at, &wanted_used, &wanted);
    for (long p = 0; p <= PODS; p++) {
        if (more == 3 && at == p) {
            double have = (double)sum / (double)typical.chosen;
            if (used != wanted_used || fabs(have - wanted) > ROUNDING) {
                printf("after %ld pods: %lld allocated, %.2f unusable; published %ld, %.2f\n", p,
                       (long long)used, have, wanted_used, wanted);
                return 1;
            }
            compared++;
            more = fscanf(curve, "%ld,%ld,%lf\n", &at, &wanted_used, &wanted);
        }
        if (p > 0) {
            const struct orr_request *request = &pods[p - 1];
            arrived += (int64_t)request->devices *
                       (request->gpu_ask == ORR_GPU_WHOLE ? ORR_MGPU : request->portion);
            note_level(arrived, used, (double)sum / (double)typical.chosen);
        }
        char devices[40];
        long number = -1;
        if (p < PODS && fscanf(places, "%ld,%39s\n", &number, devices) != 2) {
            fail("place", p);
        }
        struct node *node = find(number);
        failed += p < PODS && number < 0;
        if (node != NULL) {
            sum -= node->fragment;
            used += place(node, &pods[p], devices, p);
            node->fragment = fragment(&typical, node);
            sum += node->fragment;
        }
    }
    long table = compare_table(argv[5]);
    printf("%u typical tasks, %.2f %% of all; %ld points and %ld values equal; %lld milli-GPU "
           "allocated, %ld pods "
           "without a place\n",
           typical.count, 100.0 * (double)typical.chosen / (double)typical.all, compared, table,
           (long long)used, failed);
    orr_typical_release(&typical);
    (void)fclose(places);
    (void)fclose(curve);
    return more == 3 || compared == 0 || table <= 0;
}
