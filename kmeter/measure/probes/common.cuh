// What every kernel of the probes may use. It includes nothing, so that NVRTC needs no headers.

typedef unsigned int u32;
typedef unsigned long long u64;

// A random word for an index: the same on every card, so that a check can make it again.
// The mixer is splitmix64's finaliser.
__device__ __forceinline__ u32 random_word(u64 index, u32 seed) {
  u64 z = index * 0x9E3779B97F4A7C15ull + seed;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return (u32)(z >> 32);
}

// A random float in [-1, 1), of 24 random bits.
__device__ __forceinline__ float random_float(u64 index, u32 seed) {
  return (float)((int)random_word(index, seed) >> 8) * 0x1p-23f;
}

// Cycles of this SM, and nanoseconds of the whole GPU, since some moment of the past.
struct Moment {
  u64 cycles, nanoseconds;
};

__device__ __forceinline__ Moment now() {
  Moment moment;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(moment.nanoseconds)::"memory");
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(moment.cycles)::"memory");
  return moment;
}

// One thread of the launch tells at which clock its SM ran: it adds the cycles and nanoseconds since
// `start`. The GPU's nanoseconds move in steps of up to 32 us, which many launches even out.
__device__ __forceinline__ void tell_clock(Moment start, u64* elapsed) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    Moment end = now();
    elapsed[0] += end.cycles - start.cycles;
    elapsed[1] += end.nanoseconds - start.nanoseconds;
  }
}

__device__ __forceinline__ u32 warp_sum(u32 value) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
  return value;
}
