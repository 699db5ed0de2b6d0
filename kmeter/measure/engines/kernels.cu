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
