/* A CUDA driver that answers what a text file says (KMETER_FAKE_CUDA).
 *
 *   init CODE | version N | error CODE NAME
 *   device NAME            starts a device; the lines below belong to it
 *   uuid HEX32 | bus TEXT | memory BYTES | attribute ID VALUE | lost CODE
 */
#include <pthread.h>

#include "script.h"

#define DEVICES 16
#define ATTRIBUTES 512
enum { OK = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101 };

struct device {
  char name[128], uuid[64], bus[32];
  unsigned long long memory;
  int values[ATTRIBUTES], known[ATTRIBUTES], lost;
};

static struct device devices[DEVICES];
static int count, init_code, version = 13000, ready;
static char error_names[1024][64];

static void take_line(const char *word, char *rest) {
  struct device *d = count ? &devices[count - 1] : NULL;
  if (!strcmp(word, "init")) init_code = atoi(rest);
  else if (!strcmp(word, "version")) version = atoi(rest);
  else if (!strcmp(word, "error")) sscanf(strchr(rest, ' ') + 1, "%63s", error_names[atoi(rest)]);
  else if (!strcmp(word, "device")) snprintf(devices[count++].name, 128, "%s", rest);
  else if (!d) return;
  else if (!strcmp(word, "uuid")) snprintf(d->uuid, 64, "%s", rest);
  else if (!strcmp(word, "bus")) snprintf(d->bus, 32, "%s", rest);
  else if (!strcmp(word, "memory")) d->memory = strtoull(rest, NULL, 10);
  else if (!strcmp(word, "lost")) d->lost = atoi(rest);
  else if (!strcmp(word, "attribute")) {
    int id = atoi(rest);
    d->known[id] = 1;
    d->values[id] = atoi(strchr(rest, ' ') + 1);
  }
}

/* As the real one it may be called again, and by several threads at once. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_read;
static void read_once(void) { is_read = read_script("KMETER_FAKE_CUDA", take_line); }

int cuInit(unsigned flags) {
  (void)flags;
  pthread_once(&once, read_once);
  if (!is_read) return 999;
  ready = !init_code;
  if (ready && !count) return NO_DEVICE;
  return init_code;
}

int cuDriverGetVersion(int *out) { *out = version; return OK; }
int cuDeviceGetCount(int *out) { *out = count; return ready ? OK : NOT_INITIALIZED; }

int cuDeviceGet(int *out, int ordinal) {
  if (ordinal < 0 || ordinal >= count) return INVALID_DEVICE;
  *out = ordinal;
  return devices[ordinal].lost;
}

int cuDeviceGetName(char *out, int length, int d) {
  snprintf(out, length, "%s", devices[d].name);
  return OK;
}

int cuDeviceTotalMem_v2(size_t *out, int d) { *out = devices[d].memory; return OK; }

int cuDeviceGetUuid_v2(unsigned char *out, int d) {
  if (!devices[d].uuid[0]) return INVALID_VALUE;
  for (int i = 0; i < 16; i++) {
    unsigned byte = 0;
    sscanf(devices[d].uuid + 2 * i, "%2x", &byte);
    out[i] = (unsigned char)byte;
  }
  return OK;
}

int cuDeviceGetPCIBusId(char *out, int length, int d) {
  if (!devices[d].bus[0]) return INVALID_VALUE;
  snprintf(out, length, "%s", devices[d].bus);
  return OK;
}

int cuDeviceGetAttribute(int *out, int id, int d) {
  if (id < 0 || id >= ATTRIBUTES || !devices[d].known[id]) return INVALID_VALUE;
  *out = devices[d].values[id];
  return OK;
}

int cuGetErrorName(int code, const char **out) {
  if (code < 0 || code >= 1024 || !error_names[code][0]) { *out = NULL; return INVALID_VALUE; }
  *out = error_names[code];
  return OK;
}

/* Nobody may create a context: a test looks for this file. */
int cuCtxCreate_v2(void **out, unsigned flags, int d) {
  const char *path = getenv("KMETER_FAKE_CONTEXT");
  FILE *file = path ? fopen(path, "w") : NULL;
  (void)out; (void)flags; (void)d;
  if (file) fclose(file);
  return OK;
}
int cuDevicePrimaryCtxRetain(void **out, int d) { return cuCtxCreate_v2(out, 0, d); }

#include "gpu.h"
