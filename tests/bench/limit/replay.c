/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay.c - floor time of a whole trace replay: read CSV, sort, simulate FIFO, write jobs.
 *
 *   replay [-f trace.csv] [-x copies] [-g gpus] [-s counter|nodes|scan] [-p fast|libcsv|naive]
 *          [-o none|raw|sqlite|vtab] [-d out.db] [-r repeats] [-j workers] [-k thread|proc] [-q]
 *
 * Trace columns: timestamp(YYYY-MM-DD HH:MM:SS),duration,num_gpus,gpu_time,cluster
 * -x N      replicate the trace N times on the time axis (scale test)
 * -s        counter: one free-GPU counter, FIFO with a blocked head
 *           nodes:   8-GPU nodes, best fit from a bitmap per free count, gangs on empty nodes
 *           scan:    counter, but every cycle looks at every pending job (first fit backfill)
 * -j/-k     run the simulation phase `repeats` times in each of `workers` threads/processes
 * -o        sqlite: prepared INSERT per job; vtab: INSERT..SELECT from a virtual table over the arrays
 * Prints one TSV line per phase: CPU seconds (median, min, spread), wall seconds (median), rows/s by CPU.
 */
#include "lim.h"
#include <csv.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct { int64_t t; u32 dur, gpus, vc, id; } job_t;
typedef struct { u32 node, qlen; int64_t start, finish; float util; } res_t;
typedef struct {
    u64 events, cycles, touches, sumq;
    u32 maxq, maxrun;
    int64_t makespan, wait;
} out_t;

static job_t *jobs;
static u32 njobs, capjobs;
static const char *simkind = "counter", *parsekind = "fast", *outkind = "none", *dbpath = "replay.db";
static u32 gpus = 2490;

/* ---------------------------------------------------------------- parse */
static int64_t days_civil(int y, int m, int d) /* days since 1970-01-01, proleptic Gregorian */
{
    y -= m <= 2;
    int era = y / 400, yoe = y - era * 400;
    int doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return (int64_t)era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}
static inline int dig2(const char *p) { return (p[0] - '0') * 10 + p[1] - '0'; }
static inline int64_t stamp(const char *p) /* fixed-width timestamp; days cached */
{
    static char last[10];
    static int64_t base;
    if (memcmp(p, last, 10)) {
        memcpy(last, p, 10);
        base = days_civil(dig2(p) * 100 + dig2(p + 2), dig2(p + 5), dig2(p + 8)) * 86400;
    }
    return base + dig2(p + 11) * 3600 + dig2(p + 14) * 60 + dig2(p + 17);
}
static void add(job_t j)
{
    if (njobs == capjobs) {
        capjobs = capjobs ? capjobs * 2 : 1 << 17;
        jobs = realloc(jobs, capjobs * sizeof *jobs);
        if (!jobs) exit(1);
    }
    j.id = njobs;
    jobs[njobs++] = j;
}
static inline u32 vc_hash(const char *p, size_t n)
{
    u32 h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * 16777619u;
    return h;
}
static void parse_fast(const char *p, const char *end)
{
    p = memchr(p, '\n', (size_t)(end - p)) + 1;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl) nl = end;
        if (nl - p < 24) { p = nl + 1; continue; }
        job_t j = { .t = stamp(p) };
        p += 20;
        u32 v = 0;
        while ((unsigned)(*p - '0') < 10) v = v * 10 + (u32)(*p++ - '0');
        j.dur = v;
        while (*p != ',') p++;              /* fraction dropped: one-second ticks */
        for (p++, v = 0; (unsigned)(*p - '0') < 10; p++) v = v * 10 + (u32)(*p - '0');
        j.gpus = v;
        for (p++; *p != ','; p++) {}
        p++;
        j.vc = vc_hash(p, (size_t)(nl - p));
        add(j);
        p = nl + 1;
    }
}
struct cb { int col, row, naive; job_t j; };
static void on_field(void *s, size_t n, void *vp)
{
    struct cb *c = vp;
    const char *p = s;
    if (!c->row) return;
    switch (c->col++) {
    case 0:
        if (c->naive) {
            struct tm tm = { 0 };
            strptime(p, "%Y-%m-%d %H:%M:%S", &tm);
            c->j.t = timegm(&tm);
        } else if (n == 19) c->j.t = stamp(p);
        break;
    case 1: c->j.dur = (u32)strtod(p, NULL); break;
    case 2: c->j.gpus = (u32)strtol(p, NULL, 10); break;
    case 3: if (c->naive) c->j.dur += 0 * (u32)strtod(p, NULL); break;
    case 4: c->j.vc = vc_hash(p, n); break;
    }
}
static void on_row(int ch, void *vp)
{
    struct cb *c = vp;
    (void)ch;
    if (c->row++ && c->col >= 5) add(c->j);
    c->col = 0;
}
static void parse_libcsv(const char *p, size_t n, int naive)
{
    struct csv_parser cp;
    struct cb c = { .naive = naive };
    csv_init(&cp, CSV_APPEND_NULL);
    csv_parse(&cp, p, n, on_field, on_row, &c);
    csv_fini(&cp, on_field, on_row, &c);
    csv_free(&cp);
}

/* ---------------------------------------------------------------- stable radix sort by time */
static void sort_jobs(void)
{
    job_t *a = jobs, *b = malloc(capjobs * sizeof *b);
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (u32 i = 0; i < njobs; i++) { if (a[i].t < lo) lo = a[i].t; if (a[i].t > hi) hi = a[i].t; }
    for (int sh = 0; ((u64)(hi - lo) >> sh) > 0; sh += 11) {
        u32 c[2048] = { 0 }, s = 0;
        for (u32 i = 0; i < njobs; i++) c[((u64)(a[i].t - lo) >> sh) & 2047]++;
        for (int k = 0; k < 2048; k++) { u32 x = c[k]; c[k] = s; s += x; }
        for (u32 i = 0; i < njobs; i++) b[c[((u64)(a[i].t - lo) >> sh) & 2047]++] = a[i];
        job_t *x = a; a = b; b = x;
    }
    jobs = a;
    free(b);
    for (u32 i = 0; i < njobs; i++) jobs[i].t -= lo;
}
static void replicate(u32 copies)
{
    u32 n = njobs;
    int64_t span = jobs[n - 1].t + 86400;
    if ((u64)n * copies > 16000000) { fprintf(stderr, "too many jobs for 24-bit ids\n"); exit(1); }
    for (u32 c = 1; c < copies; c++)
        for (u32 i = 0; i < n; i++) { job_t j = jobs[i]; j.t += span * c; add(j); }
    for (u32 i = 0; i < njobs; i++) jobs[i].id = i;
}

/* ---------------------------------------------------------------- departures: 4-ary packed heap */
typedef struct { u64 *a; u32 n; } heap_t;
static inline void hpush(heap_t *h, u64 e)
{
    u64 *a = h->a;
    u32 i = h->n++;
    a[h->n] = a[h->n + 1] = a[h->n + 2] = a[h->n + 3] = ~0ull;
    while (i) { u32 p = (i - 1) / 4; if (e >= a[p]) break; a[i] = a[p]; i = p; }
    a[i] = e;
}
static inline u64 hpop(heap_t *h)
{
    u64 *a = h->a, top = a[0], e = a[--h->n];
    u32 i = 0, n = h->n;
    a[n] = ~0ull;
    for (;;) {
        u32 c = i * 4 + 1, b = c;
        if (c >= n) break;
        u64 m = a[c];
        for (u32 k = 1; k < 4; k++) { u64 x = a[c + k]; int l = x < m; m = l ? x : m; b = l ? c + k : b; }
        if (e <= m) break;
        a[i] = m; i = b;
    }
    a[i] = e;
    return top;
}

/* ---------------------------------------------------------------- simulation */
#define W 64                               /* bitmap words: up to 4096 nodes */
typedef struct { u64 bit[9][W]; uint8_t *freeg; u32 nn, words, empty; u32 *next; u32 *first; } cl_t;
static inline void setfree(cl_t *c, u32 n, u32 f)
{
    u32 o = c->freeg[n];
    c->bit[o][n >> 6] &= ~(1ull << (n & 63));
    c->bit[f][n >> 6] |= 1ull << (n & 63);
    c->empty += (f == 8) - (o == 8);
    c->freeg[n] = (uint8_t)f;
}
static inline u32 bestfit(const cl_t *c, u32 g)
{
    for (u32 f = g; f <= 8; f++)
        for (u32 w = 0; w < c->words; w++)
            if (c->bit[f][w]) return w * 64 + (u32)__builtin_ctzll(c->bit[f][w]);
    return ~0u;
}
static out_t simulate(res_t *res, int kind) /* kind 0 counter, 1 nodes, 2 scan */
{
    out_t o = { 0 };
    heap_t h = { xalloc((njobs + 8) * 8ull), 0 };
    u32 arr = 0, head = 0, done = 0, nfree = gpus, npend = 0, running = 0;
    u32 *pend = kind == 2 ? xalloc(njobs * 4ull + 64) : NULL;
    uint16_t *pg = kind == 2 ? xalloc(njobs * 2ull + 64) : NULL;
    cl_t *c = NULL;
    u32 *lnk = NULL;
    if (kind == 1) {
        c = calloc(1, sizeof *c);
        c->nn = gpus / 8; c->words = (c->nn + 63) / 64;
        if (c->nn > W * 64) { fprintf(stderr, "nodes: at most %d GPUs\n", W * 512); exit(1); }
        c->freeg = calloc(c->nn, 1);
        c->next = xalloc(c->nn * 4ull);
        for (u32 i = 0; i < c->nn; i++) setfree(c, i, 8);
        lnk = c->next;                     /* gang node lists; a gang owns whole nodes */
    }
    h.a[0] = ~0ull;
    while (done < njobs) {
        int64_t ta = arr < njobs ? jobs[arr].t : INT64_MAX, tf = h.n ? (int64_t)(h.a[0] >> 24) : INT64_MAX;
        int64_t t = ta < tf ? ta : tf;
        if (t == INT64_MAX) { fprintf(stderr, "stuck: a job larger than the cluster\n"); exit(1); }
        while (h.n && (int64_t)(h.a[0] >> 24) == t) {
            u32 i = (u32)(hpop(&h) & 0xffffff);
            if (kind == 1) {
                u32 g = jobs[i].gpus, n = res[i].node;
                if (g <= 8) setfree(c, n, c->freeg[n] + g);
                else for (u32 k = 0; k < (g + 7) / 8; k++) { u32 nx = lnk[n]; setfree(c, n, 8); n = nx; }
            }
            nfree += jobs[i].gpus;
            running--; done++; o.events++;
            if (t > o.makespan) o.makespan = t;
        }
        while (arr < njobs && jobs[arr].t == t) {
            if (kind == 2) { pend[npend] = arr; pg[npend++] = (uint16_t)jobs[arr].gpus; }
            res[arr].qlen = kind == 2 ? npend : arr - head;
            arr++; o.events++;
        }
        o.cycles++;
        if (kind == 2) {
            u32 k = 0;
            o.touches += npend;
            for (u32 q = 0; q < npend; q++) {
                u32 i = pend[q];
                if (pg[q] <= nfree) {
                    nfree -= pg[q];
                    res[i].start = t; res[i].finish = t + jobs[i].dur; res[i].node = 0;
                    res[i].util = 1.0f - (float)nfree / (float)gpus;
                    o.wait += t - jobs[i].t;
                    running++;
                    hpush(&h, (u64)res[i].finish << 24 | i);
                } else { pend[k] = i; pg[k++] = pg[q]; }
            }
            npend = k;
        } else {
            while (head < arr) {
                u32 g = jobs[head].gpus;
                if (kind == 0) {
                    if (g > nfree) break;
                    res[head].node = 0;
                } else if (g <= 8) {
                    u32 n = bestfit(c, g);
                    if (n == ~0u) break;
                    setfree(c, n, c->freeg[n] - g);
                    res[head].node = n;
                } else {
                    u32 need = (g + 7) / 8, prev = ~0u;
                    if (need > c->empty) break;
                    while (need--) { u32 n = bestfit(c, 8); setfree(c, n, 0); lnk[n] = prev; prev = n; }
                    res[head].node = prev;
                }
                nfree -= g;
                res[head].start = t; res[head].finish = t + jobs[head].dur;
                res[head].util = 1.0f - (float)nfree / (float)gpus;
                o.wait += t - jobs[head].t;
                running++;
                hpush(&h, (u64)res[head].finish << 24 | head);
                head++;
            }
            npend = arr - head;
        }
        o.sumq += npend;
        if (npend > o.maxq) o.maxq = npend;
        if (running > o.maxrun) o.maxrun = running;
    }
    free(h.a); free(pend); free(pg);
    if (c) { free(c->freeg); free(c->next); free(c); }
    return o;
}

/* ---------------------------------------------------------------- output: 16 columns per job */
static const char *ddl =
    "CREATE TABLE job(id INTEGER PRIMARY KEY, arrival INT, start INT, finish INT, wait INT, duration INT,"
    "gpus INT, gpu_time INT, vc INT, node INT, attempts INT, status INT, qlen INT,"
    "jct REAL, slowdown REAL, util REAL)";
static const res_t *vres;
static int64_t icol(u32 i, int k)          /* integer columns 0..12 of job i */
{
    const job_t *j = &jobs[i];
    const res_t *r = &vres[i];
    switch (k) {
    case 0: return i;
    case 1: return j->t;
    case 2: return r->start;
    case 3: return r->finish;
    case 4: return r->start - j->t;
    case 5: return j->dur;
    case 6: return j->gpus;
    case 7: return (int64_t)j->dur * j->gpus;
    case 8: return j->vc;
    case 9: return r->node;
    case 10: return 1;
    case 11: return 0;
    default: return r->qlen;
    }
}
static double dcol(u32 i, int k)           /* real columns 13..15 */
{
    double jct = (double)(vres[i].finish - jobs[i].t);
    return k == 13 ? jct : k == 14 ? jct / (jobs[i].dur ? jobs[i].dur : 1) : (double)vres[i].util;
}
typedef struct { sqlite3_vtab_cursor b; u32 k; } cur_t;
static int vt_conn(sqlite3 *db, void *a, int c, const char *const *v, sqlite3_vtab **o, char **e)
{
    (void)a; (void)c; (void)v; (void)e;
    *o = sqlite3_malloc(sizeof **o); memset(*o, 0, sizeof **o);
    return sqlite3_declare_vtab(db, "CREATE TABLE x(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p)");
}
static int vt_disc(sqlite3_vtab *v) { sqlite3_free(v); return 0; }
static int vt_best(sqlite3_vtab *v, sqlite3_index_info *i) { (void)v; i->estimatedCost = njobs; return 0; }
static int vt_open(sqlite3_vtab *v, sqlite3_vtab_cursor **c)
{
    (void)v;
    *c = sqlite3_malloc(sizeof(cur_t)); memset(*c, 0, sizeof(cur_t));
    return 0;
}
static int vt_close(sqlite3_vtab_cursor *c) { sqlite3_free(c); return 0; }
static int vt_filter(sqlite3_vtab_cursor *c, int a, const char *b, int d, sqlite3_value **e)
{
    (void)a; (void)b; (void)d; (void)e;
    ((cur_t *)c)->k = 0;
    return 0;
}
static int vt_next(sqlite3_vtab_cursor *c) { ((cur_t *)c)->k++; return 0; }
static int vt_eof(sqlite3_vtab_cursor *c) { return ((cur_t *)c)->k >= njobs; }
static int vt_col(sqlite3_vtab_cursor *c, sqlite3_context *x, int k)
{
    if (k < 13) sqlite3_result_int64(x, icol(((cur_t *)c)->k, k));
    else sqlite3_result_double(x, dcol(((cur_t *)c)->k, k));
    return 0;
}
static int vt_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *r) { *r = ((cur_t *)c)->k; return 0; }
static sqlite3_module vmod = { .xConnect = vt_conn, .xBestIndex = vt_best, .xDisconnect = vt_disc, .xOpen = vt_open,
    .xClose = vt_close, .xFilter = vt_filter, .xNext = vt_next, .xEof = vt_eof, .xColumn = vt_col, .xRowid = vt_rowid };
static void write_sqlite(const res_t *r, int vtab)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    vres = r;
    unlink(dbpath);
    if (sqlite3_open(dbpath, &db)) exit(1);
    sqlite3_exec(db, "PRAGMA page_size=16384; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
                     "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536", 0, 0, 0);
    sqlite3_exec(db, ddl, 0, 0, 0);
    sqlite3_create_module(db, "src", &vmod, NULL);
    sqlite3_exec(db, "BEGIN", 0, 0, 0);
    if (vtab) {
        if (sqlite3_exec(db, "INSERT INTO job SELECT * FROM src", 0, 0, 0)) exit(1);
    } else {
        sqlite3_prepare_v2(db, "INSERT INTO job VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &st, 0);
        for (u32 i = 0; i < njobs; i++) {
            for (int k = 0; k < 13; k++) sqlite3_bind_int64(st, k + 1, icol(i, k));
            for (int k = 13; k < 16; k++) sqlite3_bind_double(st, k + 1, dcol(i, k));
            sqlite3_step(st);
            sqlite3_reset(st);
        }
        sqlite3_finalize(st);
    }
    if (sqlite3_exec(db, "COMMIT", 0, 0, 0)) exit(1);
    sqlite3_close(db);
}
static void write_raw(const res_t *r)
{
    FILE *f = fopen(dbpath, "wb");
    if (!f) exit(1);
    fwrite(jobs, sizeof *jobs, njobs, f);
    fwrite(r, sizeof *r, njobs, f);
    fclose(f);
}

/* ---------------------------------------------------------------- driver */
static int kind, reps = 5;
static void *worker(void *vp)
{
    res_t *r = xalloc((size_t)njobs * sizeof *r);
    (void)vp;
    for (int i = 0; i < reps; i++) simulate(r, kind);
    free(r);
    return NULL;
}
enum { READ, PARSE, SORT, SIM, WRITE, TOTAL, NPH };
static const char *const phase[NPH] = { "read", "parse", "sort", "simulate", "write", "total" };
int main(int argc, char **argv)
{
    const char *file = "philly.csv", *wk = "thread";
    int o, workers = 0, quiet = 0;
    u32 copies = 1;
    while ((o = getopt(argc, argv, "f:x:g:s:p:o:d:r:j:k:q")) != -1) {
        switch (o) {
        case 'f': file = optarg; break;
        case 'x': copies = (u32)atoi(optarg); break;
        case 'g': gpus = (u32)atoi(optarg); break;
        case 's': simkind = optarg; break;
        case 'p': parsekind = optarg; break;
        case 'o': outkind = optarg; break;
        case 'd': dbpath = optarg; break;
        case 'r': reps = atoi(optarg); break;
        case 'j': workers = atoi(optarg); break;
        case 'k': wk = optarg; break;
        case 'q': quiet = 1; break;
        default: return 2;
        }
    }
    kind = !strcmp(simkind, "nodes") ? 1 : !strcmp(simkind, "scan") ? 2 : 0;
    static double cpu[NPH][256], wall[NPH][256];
    if (reps > 256) reps = 256;
    out_t out = { 0 };
    for (int i = 0; i < (workers ? 1 : reps); i++) {
        double c[6], w[6];
#define MARK(k) (w[k] = now_wall(), c[k] = now_clk(CLOCK_PROCESS_CPUTIME_ID))
        MARK(0);
        FILE *f = fopen(file, "rb");
        if (!f) { perror(file); return 1; }
        fseek(f, 0, SEEK_END);
        size_t n = (size_t)ftell(f);
        rewind(f);
        char *buf = malloc(n + 64);
        if (fread(buf, 1, n, f) != n) return 1;
        memset(buf + n, '\n', 64);
        fclose(f);
        MARK(1);
        free(jobs); jobs = NULL; njobs = capjobs = 0;
        if (!strcmp(parsekind, "fast")) parse_fast(buf, buf + n);
        else parse_libcsv(buf, n, !strcmp(parsekind, "naive"));
        MARK(2);
        sort_jobs();
        if (copies > 1) replicate(copies);
        MARK(3);
        free(buf);
        if (workers) break;
        res_t *res = xalloc((size_t)njobs * sizeof *res);
        out = simulate(res, kind);
        MARK(4);
        if (!strcmp(outkind, "sqlite")) write_sqlite(res, 0);
        else if (!strcmp(outkind, "vtab")) write_sqlite(res, 1);
        else if (!strcmp(outkind, "raw")) write_raw(res);
        MARK(5);
        for (int k = 0; k < NPH - 1; k++) { cpu[k][i] = c[k + 1] - c[k]; wall[k][i] = w[k + 1] - w[k]; }
        cpu[TOTAL][i] = c[5] - c[0]; wall[TOTAL][i] = w[5] - w[0];
        free(res);
    }
    if (workers) {
        double t0 = now_wall();
        if (!strcmp(wk, "proc")) {
            for (int w = 0; w < workers; w++) if (!fork()) { worker(NULL); _exit(0); }
            while (wait(NULL) > 0) {}
        } else {
            pthread_t th[64];
            for (int w = 0; w < workers; w++) pthread_create(&th[w], NULL, worker, NULL);
            for (int w = 0; w < workers; w++) pthread_join(th[w], NULL);
        }
        double dt = now_wall() - t0;
        printf("%s\t%d\t%.4f s\t%.2f sims/s\t%.2f Mjobs/s\n", wk, workers, dt, workers * reps / dt,
               1e-6 * workers * reps * njobs / dt);
        return 0;
    }
    printf("phase\tcpu_s\tcpu_min\tspread%%\twall_s\trows/s\n");
    for (int k = 0; k < NPH; k++) {
        stat_t sc = stats(cpu[k], reps), sw = stats(wall[k], reps);
        printf("%s\t%.6f\t%.6f\t%.0f\t%.6f\t%.0f\n", phase[k], sc.med, sc.min, 100 * sc.spread, sw.med,
               (k <= PARSE ? njobs / copies : njobs) / sc.med);
    }
    if (!quiet)
        printf("# jobs %u events %llu cycles %llu (distinct times) meanq %.2f maxq %u maxrun %u touches %llu "
               "makespan %lld s mean wait %.1f s\n",
               njobs, (unsigned long long)out.events, (unsigned long long)out.cycles,
               (double)out.sumq / (double)out.cycles, out.maxq, out.maxrun, (unsigned long long)out.touches,
               (long long)out.makespan, (double)out.wait / njobs);
    return 0;
}
