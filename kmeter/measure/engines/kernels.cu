// What the timing engines need on the GPU beside the user's kernel. kernels.ptx is made of this file
// by scripts/generate_engine_kernels.py: the driver compiles it, no toolkit is needed.

typedef unsigned long long u64;

static __device__ __forceinline__ u64 now_ns() {
  u64 time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

// Keeps the stream busy until the host has written `ticket` or more: what the host launches meanwhile
// starts without a gap. It gives up after `limit_ns`, and says so, since the launched work itself may
// wait for the GPU.
extern "C" __global__ void kmeter_hold(volatile unsigned *released, unsigned ticket, u64 limit_ns,
                                volatile unsigned *gave_up) {
  u64 begin = now_ns();
  while (*released < ticket) {
    if (now_ns() - begin > limit_ns) {
      *gave_up = 1;
      return;
    }
  }
}

// An empty kernel: what an event pair reads around it is the pair's own cost and a launch.
extern "C" __global__ void kmeter_nothing() {}

// Reads an array, so that L2 is full of lines that need no writing back. The sum keeps the loads.
extern "C" __global__ void kmeter_read_all(const uint4 *data, u64 count, unsigned *sink) {
  unsigned sum = 0;
  u64 step = (u64)gridDim.x * blockDim.x;
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    uint4 four = __ldcg(data + i);
    sum ^= four.x ^ four.y ^ four.z ^ four.w;
  }
  if (sum == 0x5eed1e55) *sink = sum;
}

// Sets *differ where two stretches of memory are not equal to the bit.
extern "C" __global__ void kmeter_compare(const unsigned char *one, const unsigned char *other, u64 size,
                                   unsigned *differ) {
  u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, step = (u64)gridDim.x * blockDim.x;
  u64 words = ((u64)one | (u64)other) % sizeof(uint4) ? 0 : size / sizeof(uint4);
  unsigned found = 0;
  for (u64 i = thread; i < words; i += step) {
    uint4 a = ((const uint4 *)one)[i], b = ((const uint4 *)other)[i];
    found |= (a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w);
  }
  for (u64 i = words * sizeof(uint4) + thread; i < size; i += step) found |= one[i] ^ other[i];
  if (found) *differ = 1;
}
