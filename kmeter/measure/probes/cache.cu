// Reading again and again what a cache holds: L2, L1, shared memory.
//
// The words read are added up, so that each load is used, and the sum is compared with that of the
// data. THREADS is the block size and UNROLL the loads that a thread has in flight; both are
// constants, so that addresses inside a pass are immediate offsets.

struct __align__(16) Quad {
  u32 x, y, z, w;
};

__device__ __forceinline__ u32 sum_of(const Quad& q) { return q.x + q.y + q.z + q.w; }

__device__ __forceinline__ void add(Quad& to, const Quad& q) {
  to.x += q.x;
  to.y += q.y;
  to.z += q.z;
  to.w += q.w;
}

#define READ(instruction, address)                                                        \
  asm volatile(instruction ".v4.b32 {%0,%1,%2,%3}, [%4];"                                   \
               : "=r"(got[u].x), "=r"(got[u].y), "=r"(got[u].z), "=r"(got[u].w) : address)

// Block i has the n quads from `i * offset` on, and goes around them `passes` times, beginning
// `i * home` quads in: with an offset of n each block has its own, with 0 all share the same.
// l2_read passes L1 by, cached_read does not.
#define READ_AROUND(kernel, instruction)                                                      \
  extern "C" __global__ __launch_bounds__(THREADS) void kernel(                                 \
      const Quad* data, u64 offset, u32 n, u32 home, u32 passes, u32* sum, u64* elapsed) {      \
    const u32 step = THREADS * UNROLL, steps = n / step;                                        \
    const Quad* own = data + blockIdx.x * offset;                                               \
    u32 at = (u32)((u64)blockIdx.x * home % n);                                                 \
    Quad total = {0, 0, 0, 0};                                                                  \
    Moment start = now();                                                                       \
    for (u32 pass = 0; pass < passes; pass++)                                                   \
      for (u32 i = 0; i < steps; i++) {                                                         \
        Quad got[UNROLL];                                                                       \
        _Pragma("unroll") for (int u = 0; u < UNROLL; u++) {                                    \
          u32 index = at + u * THREADS + threadIdx.x;                                           \
          index -= index >= n ? n : 0;                                                          \
          READ(instruction, "l"(own + index));                                                  \
        }                                                                                       \
        _Pragma("unroll") for (int u = 0; u < UNROLL; u++) add(total, got[u]);                  \
        at += step;                                                                             \
        at -= at >= n ? n : 0;                                                                  \
      }                                                                                         \
    tell_clock(start, elapsed);                                                                 \
    u32 mine = warp_sum(sum_of(total));                                                         \
    if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);                                            \
  }

READ_AROUND(l2_read, "ld.global.cg")
READ_AROUND(cached_read, "ld.global.ca")

// Block i writes its own n quads over and over.
extern "C" __global__ __launch_bounds__(THREADS) void l2_write(Quad* data, u32 n, u32 passes,
                                                                u32 seed, u64* elapsed) {
  const u32 step = THREADS * UNROLL;
  const u64 first = (u64)blockIdx.x * n;
  Moment start = now();
  for (u32 pass = 0; pass < passes; pass++)
    for (u32 at = 0; at < n; at += step)
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        u64 index = first + at + u * THREADS + threadIdx.x;
        u32 word = (u32)index * 4 * 0x9E3779B9u + seed;
        asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};" ::"l"(data + index), "r"(word),
                     "r"(word + 0x9E3779B9u), "r"(word + 2 * 0x9E3779B9u),
                     "r"(word + 3 * 0x9E3779B9u)
                     : "memory");
      }
  tell_clock(start, elapsed);
}

// The address of l1_read and shared_read moves by `nothing`, which is 0: without it the compiler
// would see that every pass reads the same, and read once.

// Every block reads the same words, one step of it, so that each SM's L1 comes to hold them.
extern "C" __global__ __launch_bounds__(THREADS) void l1_read(const Quad* data, u32 passes,
                                                               u32 nothing, u32* sum,
                                                               u64* elapsed) {
  const Quad* from = data + threadIdx.x;
  Quad total = {0, 0, 0, 0};
  Moment start = now();
#pragma unroll 1
  for (u32 pass = 0; pass < passes; pass++) {
    Quad got[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) READ("ld.global.ca", "l"(from + u * THREADS));
#pragma unroll
    for (int u = 0; u < UNROLL; u++) add(total, got[u]);
    from += nothing;
  }
  tell_clock(start, elapsed);
  u32 own = warp_sum(sum_of(total));
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

#if THREADS * UNROLL * 16 <= 48 * 1024
extern "C" __global__ __launch_bounds__(THREADS) void shared_read(const Quad* data, u32 passes,
                                                                   u32 nothing, u32* sum,
                                                                   u64* elapsed) {
  __shared__ Quad held[THREADS * UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; u++) held[u * THREADS + threadIdx.x] = data[u * THREADS + threadIdx.x];
  __syncthreads();
  u32 from = (u32)__cvta_generic_to_shared(held + threadIdx.x);
  Quad total = {0, 0, 0, 0};
  Moment start = now();
#pragma unroll 1
  for (u32 pass = 0; pass < passes; pass++) {
    Quad got[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) READ("ld.shared", "r"(from + (u32)(u * THREADS * sizeof(Quad))));
#pragma unroll
    for (int u = 0; u < UNROLL; u++) add(total, got[u]);
    from += nothing;
  }
  tell_clock(start, elapsed);
  u32 own = warp_sum(sum_of(total));
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}
#endif
