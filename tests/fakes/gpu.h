/* A GPU behind the fake driver: it computes at once, on the host, and keeps time as a GPU does.
 *
 * Work of a stream starts where the work before it ends, and not before the host launches it, unless the
 * stream is held back. A mark costs MARK_NS and an empty kernel EMPTY_NS, so that an event pair around a
 * kernel reads MARK_NS more than the kernel takes. Waiting really waits.
 */
#include <stdint.h>
#include <time.h>

enum { OUT_OF_MEMORY = 2, ILLEGAL_ADDRESS = 700, CAPTURE_UNSUPPORTED = 900 };
enum { MARK_NS = 2000, EMPTY_NS = 400, GRAPH_GAP_NS = 700, BYTES_PER_NS = 2000 };
enum { STREAMS = 64, NODES = 4096, FUNCTIONS = 16, UNTOUCHED_BYTES = 1 << 25 };

typedef struct { int op; float *out, *a, *b; size_t n; int64_t ns; } work_t;
typedef struct { work_t *nodes; int count; } graph_t;
typedef struct { int64_t time; volatile unsigned *gate, *gave_up; unsigned ticket; graph_t *capture; } stream_t;

typedef struct { int64_t start, end; int is_kernel; char name[32]; } record_t;
enum { RECORDS = 1 << 16 };
static record_t records[RECORDS];
static int record_count, is_recording;

enum { OP_NOTHING, OP_ADD, OP_CRASH, OP_HANG, OP_DOUBLE, OP_SKIP, OP_MARK };
static stream_t streams[STREAMS];
static int stream_count = 1, sticky, lines_stay;
static size_t taken_bytes;
static int64_t launches;
static char functions[FUNCTIONS][64];
static int function_count;

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static stream_t *stream_of(void *handle) { return &streams[(uintptr_t)handle < STREAMS ? (uintptr_t)handle : 0]; }

/* When the next work of a stream starts: at once behind a closed gate, else not before now. */
static void arrive(stream_t *s) {
  int64_t now = now_ns();
  if (s->gate && *s->gate >= s->ticket) s->gate = NULL;
  if (!s->gate && s->time < now) s->time = now;
}

static void compute(const work_t *w) {
  if (w->op == OP_ADD || w->op == OP_MARK) for (size_t i = 0; i < w->n; i++) w->out[i] = w->a[i] + w->b[i];
  if (w->op == OP_DOUBLE) for (size_t i = 0; i < w->n; i++) w->out[i] *= 2;
  if (w->op == OP_CRASH) sticky = ILLEGAL_ADDRESS;
}

static int give_named(void *handle, work_t w, int is_kernel, const char *name) {
  stream_t *s = stream_of(handle);
  if (sticky) return sticky;
  launches++;
  if (s->capture) {
    s->capture->nodes[s->capture->count++] = w;
    return OK;
  }
  arrive(s);
  if (w.op == OP_MARK) {  /* half of the time where its lines are still in L2 */
    w.ns /= 1 + lines_stay;
    lines_stay = 1;
  }
  compute(&w);
  if (is_recording && record_count < RECORDS) {
    record_t *r = &records[record_count++];
    r->start = s->time; r->end = s->time + w.ns; r->is_kernel = is_kernel;
    snprintf(r->name, sizeof r->name, "%s", name);
  }
  s->time = w.op == OP_HANG ? INT64_MAX / 2 : s->time + w.ns;
  return OK;
}

static int give(void *handle, work_t w) { return give_named(handle, w, 1, "a user's kernel"); }

/* What a fake CUPTI reads: every kernel and fill since it asked for them. */
void fakeRecord(int on) { is_recording = on; record_count = 0; }
int fakeRecordCount(void) { return record_count; }
const record_t *fakeRecords(void) { record_count = 0; return records; }

static int wait_for(stream_t *s) {
  if (s->capture) return CAPTURE_UNSUPPORTED;
  if (s->gate && *s->gate < s->ticket) { *s->gave_up = 1; s->gate = NULL; }
  while (now_ns() < s->time) { }
  return sticky;
}

/* What a test's kernels call. */
int fakeLaunch(void *stream, int op, float *out, float *a, float *b, size_t n, long long ns) {
  return give(stream, (work_t){op, out, a, b, n, ns});
}
long long fakeLaunches(void) { return launches; }

int cuCtxSetCurrent(void *c) { (void)c; return OK; }
int cuCtxSynchronize(void) {
  for (int i = 0; i < stream_count; i++) if (!streams[i].capture && wait_for(&streams[i])) return sticky;
  return sticky;
}
/* How much of L2 is set aside for lines that stay. */
static size_t set_aside;
void fakeSetAside(size_t n) { set_aside = n; }
int cuCtxGetLimit(size_t *out, int which) { *out = which == 6 ? set_aside : 0; return sticky; }
int cuCtxResetPersistingL2Cache(void) { lines_stay = 0; return sticky; }
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  *total = devices[0].memory;
  *free_bytes = *total - taken_bytes;
  return sticky;
}
int cuMemAlloc_v2(void **out, size_t n) {
  if (sticky) return sticky;
  if (taken_bytes + n > devices[0].memory) return OUT_OF_MEMORY;
  taken_bytes += n;
  size_t *block = malloc(n + 16);
  *block = n;
  *out = (char *)block + 16;
  return OK;
}
int cuMemFree_v2(void *p) {
  size_t *block = (size_t *)((char *)p - 16);
  taken_bytes -= *block;
  free(block);
  return sticky;
}
int cuMemHostAlloc(void **out, size_t n, unsigned flags) { (void)flags; *out = calloc(1, n); return sticky; }
int cuMemHostGetDevicePointer_v2(void **out, void *p, unsigned flags) { (void)flags; *out = p; return sticky; }
int cuMemFreeHost(void *p) { free(p); return sticky; }
int cuMemsetD8Async(char *p, unsigned char value, size_t n, void *stream) {
  if (sticky) return sticky;
  if (n < UNTOUCHED_BYTES) memset(p, value, n);
  return give_named(stream, (work_t){OP_NOTHING, 0, 0, 0, 0, (int64_t)(n / BYTES_PER_NS)}, 0, "");
}
int cuMemcpyDtoH_v2(void *to, const void *from, size_t n) {
  int code = cuCtxSynchronize();
  if (!code) memcpy(to, from, n);
  return code;
}
int cuMemcpyDtoD_v2(void *to, const void *from, size_t n) { return cuMemcpyDtoH_v2(to, from, n); }

int cuStreamCreate(void **out, unsigned flags) { (void)flags; *out = (void *)(uintptr_t)stream_count++; return sticky; }
int cuStreamDestroy_v2(void *s) { (void)s; return sticky; }
int cuStreamSynchronize(void *s) { return wait_for(stream_of(s)); }
int cuEventCreate(void **out, unsigned flags) { (void)flags; *out = calloc(1, sizeof(int64_t)); return sticky; }
int cuEventDestroy_v2(void *e) { free(e); return sticky; }
int cuEventRecord(void *e, void *stream) {
  stream_t *s = stream_of(stream);
  arrive(s);
  s->time += MARK_NS / 2;
  *(int64_t *)e = s->time;
  s->time += MARK_NS / 2;
  return sticky;
}
int cuEventSynchronize(void *e) { while (now_ns() < *(int64_t *)e) { } return sticky; }
int cuEventElapsedTime(float *out, void *a, void *b) {
  *out = (float)((double)(*(int64_t *)b - *(int64_t *)a) * 1e-6);
  return sticky;
}

int cuModuleLoadData(void **out, const char *ptx) { *out = (void *)ptx; return strstr(ptx, ".entry") ? sticky : INVALID_VALUE; }
int cuModuleGetFunction(void **out, void *module, const char *name) {
  (void)module;
  snprintf(functions[function_count], 64, "%s", name);
  *out = functions[function_count++];
  return sticky;
}
int cuLaunchKernel(const char *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra) {
  (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)extra;
  stream_t *s = stream_of(stream);
  if (!strcmp(f, "kmeter_hold")) {
    arrive(s);
    s->gate = *(unsigned **)arguments[0];
    s->ticket = *(unsigned *)arguments[1];
    s->gave_up = *(unsigned **)arguments[3];
    return sticky;
  }
  if (!strcmp(f, "kmeter_compare")) {
    cuCtxSynchronize();
    size_t size = *(size_t *)arguments[2];
    if (memcmp(*(void **)arguments[0], *(void **)arguments[1], size)) **(unsigned **)arguments[3] = 1;
  }
  int64_t ns = EMPTY_NS;
  if (!strcmp(f, "kmeter_read_all")) ns += 16 * *(int64_t *)arguments[1] / BYTES_PER_NS;
  return give_named(stream, (work_t){OP_NOTHING, 0, 0, 0, 0, ns}, 1, f);
}

int cuStreamBeginCapture_v2(void *s, int mode) {
  (void)mode;
  graph_t *graph = calloc(1, sizeof *graph);
  graph->nodes = calloc(NODES, sizeof(work_t));
  stream_of(s)->capture = graph;
  return sticky;
}
int cuStreamEndCapture(void *s, void **graph) {
  *graph = stream_of(s)->capture;
  stream_of(s)->capture = NULL;
  return sticky;
}
int cuGraphGetNodes(graph_t *graph, void **nodes, size_t *count) { (void)nodes; *count = graph->count; return sticky; }
int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) { (void)flags; *out = graph; return sticky; }
int cuGraphLaunch(graph_t *graph, void *stream) {
  for (int i = 0; i < graph->count; i++) {
    work_t w = graph->nodes[i];
    w.ns += GRAPH_GAP_NS;
    int code = give(stream, w);
    if (code) return code;
  }
  return sticky;
}
int cuGraphDestroy(void *g) { (void)g; return sticky; }
int cuGraphExecDestroy(void *g) { (void)g; return sticky; }
