/* An NVML that answers what a text file says (KMETER_FAKE_NVML).
 *
 *   init CODE | slow MILLISECONDS | driver TEXT
 *   device NAME            starts a device; the lines below belong to it
 *   uuid TEXT | bus TEXT | lost_after CALLS | parent INDEX
 *   FUNCTION[:ARGUMENT] VALUE|error CODE|hang
 */
#include "script.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define DEVICES 16
#define ANSWERS 128
enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15 };

struct answer { char key[96]; unsigned long long value, second; int error, hang; };
struct device {
  char name[96], uuid[96], bus[32];
  struct answer answers[ANSWERS];
  int answer_count, lost_after, calls, parent;
};

static struct device devices[DEVICES];
static int count, init_code, slow_ms;
static char driver[80] = "580.95.05";

static void take_line(const char *word, char *rest) {
  struct device *d = count ? &devices[count - 1] : NULL;
  if (!strcmp(word, "init")) init_code = atoi(rest);
  else if (!strcmp(word, "slow")) slow_ms = atoi(rest);
  else if (!strcmp(word, "driver")) snprintf(driver, sizeof driver, "%s", rest);
  else if (!strcmp(word, "device")) {
    devices[count].lost_after = devices[count].parent = -1;
    snprintf(devices[count++].name, 96, "%s", rest);
  }
  else if (!d) return;
  else if (!strcmp(word, "uuid")) snprintf(d->uuid, 96, "%s", rest);
  else if (!strcmp(word, "bus")) snprintf(d->bus, 32, "%s", rest);
  else if (!strcmp(word, "parent")) d->parent = atoi(rest);
  else if (!strcmp(word, "lost_after")) d->lost_after = atoi(rest);
  else {
    struct answer *a = &d->answers[d->answer_count++];
    snprintf(a->key, 96, "%s", word);
    a->hang = !strcmp(rest, "hang");
    if (!strncmp(rest, "error ", 6)) a->error = atoi(rest + 6);
    else sscanf(rest, "%llu %llu", &a->value, &a->second);
  }
}

/* As the real one it may be called again, and by several threads at once. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_read;
static void read_once(void) { is_read = read_script("KMETER_FAKE_NVML", take_line); }

int nvmlInitWithFlags(unsigned flags) {
  (void)flags;
  pthread_once(&once, read_once);
  return is_read ? init_code : 9;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "an error"; }

static int ask(struct device *d, const char *key, unsigned long long *value, unsigned long long *second) {
  if (slow_ms) usleep(1000 * slow_ms);
  if (d->lost_after >= 0 && d->calls++ >= d->lost_after) return GPU_IS_LOST;
  for (int i = 0; i < d->answer_count; i++) {
    struct answer *a = &d->answers[i];
    if (strcmp(a->key, key)) continue;
    if (a->hang) for (;;) sleep(60);
    if (a->error) return a->error;
    *value = a->value;
    if (second) *second = a->second;
    return OK;
  }
  return NOT_SUPPORTED;
}

static int plain(struct device *d, const char *key, unsigned *out) {
  unsigned long long value = 0;
  int code = ask(d, key, &value, NULL);
  *out = (unsigned)value;
  return code;
}

static int two(struct device *d, const char *key, unsigned *one, unsigned *other) {
  unsigned long long a = 0, b = 0;
  int code = ask(d, key, &a, &b);
  *one = (unsigned)a; *other = (unsigned)b;
  return code;
}

#define PLAIN(f) int f(struct device *d, unsigned *out) { return plain(d, #f, out); }
#define WITH_ARGUMENT(f) \
  int f(struct device *d, unsigned argument, unsigned *out) { \
    char key[96]; snprintf(key, 96, "%s:%u", #f, argument); return plain(d, key, out); }
#define TWO(f) int f(struct device *d, unsigned *a, unsigned *b) { return two(d, #f, a, b); }

PLAIN(nvmlDeviceGetBrand)
PLAIN(nvmlDeviceGetMemoryBusWidth)
PLAIN(nvmlDeviceGetPowerUsage)
PLAIN(nvmlDeviceGetEnforcedPowerLimit)
PLAIN(nvmlDeviceGetPerformanceState)
PLAIN(nvmlDeviceGetCurrPcieLinkGeneration)
PLAIN(nvmlDeviceGetCurrPcieLinkWidth)
PLAIN(nvmlDeviceGetMaxPcieLinkGeneration)
PLAIN(nvmlDeviceGetMaxPcieLinkWidth)
PLAIN(nvmlDeviceGetPersistenceMode)
TWO(nvmlDeviceGetEccMode)
TWO(nvmlDeviceGetMigMode)
WITH_ARGUMENT(nvmlDeviceGetClockInfo)
WITH_ARGUMENT(nvmlDeviceGetMaxClockInfo)
WITH_ARGUMENT(nvmlDeviceGetTemperature)
WITH_ARGUMENT(nvmlDeviceGetNvLinkState)

int nvmlDeviceGetIndex(struct device *d, unsigned *out) {
  unsigned long long value;
  int code = ask(d, "nvmlDeviceGetIndex", &value, NULL);
  *out = (unsigned)(d - devices);
  return code == NOT_SUPPORTED ? OK : code;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *d, unsigned long long *out) {
  return ask(d, "nvmlDeviceGetCurrentClocksThrottleReasons", out, NULL);
}

/* What is answered is the power in watts that the card has drawn all the time. */
int nvmlDeviceGetTotalEnergyConsumption(struct device *d, unsigned long long *out) {
  unsigned long long watts = 0;
  struct timespec now;
  int code = ask(d, "nvmlDeviceGetTotalEnergyConsumption", &watts, NULL);
  clock_gettime(CLOCK_MONOTONIC, &now);
  *out = watts * (now.tv_sec * 1000ULL + now.tv_nsec / 1000000);
  return code;
}

struct memory { unsigned long long total, free, used; };
int nvmlDeviceGetMemoryInfo(struct device *d, struct memory *out) {
  unsigned long long total = 0, used = 0;
  int code = ask(d, "nvmlDeviceGetMemoryInfo", &total, &used);
  out->total = total; out->used = used; out->free = total - used;
  return code;
}

/* What is answered is what the driver reserves; the rest is the first version's. */
struct memory_v2 { unsigned version; unsigned long long total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(struct device *d, struct memory_v2 *out) {
  struct memory all;
  int code = ask(d, "nvmlDeviceGetMemoryInfo_v2", &out->reserved, NULL);
  if (!code) code = nvmlDeviceGetMemoryInfo(d, &all);
  if (code) return code;
  out->total = all.total; out->free = all.free; out->used = all.used - out->reserved;
  return OK;
}

int nvmlDeviceGetUtilizationRates(struct device *d, unsigned out[2]) {
  return two(d, "nvmlDeviceGetUtilizationRates", &out[0], &out[1]);
}

/* How many processes, and the number of the first; each holds a GiB. */
struct process { unsigned pid; unsigned long long memory; unsigned instances[2]; };
int nvmlDeviceGetComputeRunningProcesses_v3(struct device *d, unsigned *n, struct process *out) {
  unsigned room = *n, first = 0;
  int code = two(d, "nvmlDeviceGetComputeRunningProcesses", n, &first);
  if (code || !*n) return code;
  if (*n > room) return INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < *n; i++) out[i] = (struct process){first + i, 1ULL << 30, {0, 0}};
  return OK;
}

/* GPM: the answer to "gpm:ID" is the metric; a GPU that answers to none of "gpm" has no such counters. */
struct metric { unsigned id, code; double value; const char *names[3]; };
struct metrics { unsigned version, count; struct device **before, **now; struct metric metrics[]; };
int nvmlGpmQueryDeviceSupport(struct device *d, unsigned out[2]) {
  unsigned long long is_supported = 0;
  int code = ask(d, "gpm", &is_supported, NULL);
  out[1] = (unsigned)is_supported;
  return code == NOT_SUPPORTED ? OK : code;
}
int nvmlGpmSampleAlloc(struct device ***out) { *out = calloc(1, sizeof **out); return OK; }
int nvmlGpmSampleFree(struct device **sample) { free(sample); return OK; }
int nvmlGpmSampleGet(struct device *d, struct device **sample) {
  unsigned long long value;
  *sample = d;
  return ask(d, "gpm", &value, NULL);
}
int nvmlGpmMetricsGet(struct metrics *asked) {
  if (!*asked->before || !*asked->now) return 2;
  for (unsigned i = 0; i < asked->count; i++) {
    unsigned long long value = 0;
    char key[32];
    snprintf(key, sizeof key, "gpm:%u", asked->metrics[i].id);
    asked->metrics[i].code = ask(*asked->now, key, &value, NULL);
    asked->metrics[i].value = value;
  }
  return OK;
}

int nvmlDeviceGetVbiosVersion(struct device *d, char *out, unsigned length) {
  (void)d; snprintf(out, length, "96.00"); return OK;
}

int nvmlDeviceGetName(struct device *d, char *out, unsigned n) { snprintf(out, n, "%s", d->name); return OK; }
int nvmlDeviceGetUUID(struct device *d, char *out, unsigned n) { snprintf(out, n, "%s", d->uuid); return OK; }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { snprintf(out, n, "%s", driver); return OK; }
int nvmlSystemGetNVMLVersion(char *out, unsigned n) { snprintf(out, n, "13.%s", driver); return OK; }
int nvmlDeviceGetCount_v2(unsigned *out) { *out = count; return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **out) {
  *out = &devices[index];
  return index < (unsigned)count ? OK : 2;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct device *d, struct device **out) {
  if (d->parent < 0) return NOT_FOUND;
  *out = &devices[d->parent];
  return OK;
}

static int find(const char *text, struct device **out, int by_uuid) {
  for (int i = 0; i < count; i++)
    if (!strcasecmp(by_uuid ? devices[i].uuid : devices[i].bus, text)) {
      *out = &devices[i];
      return devices[i].lost_after == 0 ? GPU_IS_LOST : OK;
    }
  return NOT_FOUND;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, struct device **out) { return find(uuid, out, 1); }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, struct device **out) { return find(bus, out, 0); }

/* Locked clocks are written down in KMETER_FAKE_CLOCKS; an answer of error CODE refuses them. */
static int write_clock(struct device *d, const char *key, const char *line) {
  unsigned value;
  int code = plain(d, key, &value);
  if (code != OK && code != NOT_SUPPORTED) return code;
  FILE *log = fopen(getenv("KMETER_FAKE_CLOCKS"), "a");
  fprintf(log, "%s\n", line);
  fclose(log);
  return OK;
}
int nvmlDeviceSetGpuLockedClocks(struct device *d, unsigned least, unsigned most) {
  char line[64];
  snprintf(line, sizeof line, "lock %u %u", least, most);
  return write_clock(d, "nvmlDeviceSetGpuLockedClocks", line);
}
int nvmlDeviceResetGpuLockedClocks(struct device *d) {
  return write_clock(d, "nvmlDeviceResetGpuLockedClocks", "reset");
}
