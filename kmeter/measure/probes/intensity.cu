// A kernel of any arithmetic intensity: it reads 16 bytes and does FLOP operations with them.
//
// UNROLL vectors are in flight a thread. FLOP is 1, 2, 4 (an addition to one, two or all floats of
// the vector) or a multiple of 8 (as many multiply-adds a float). What is not counted is not done.

const int STEPS_UNROLLED = 64;

struct __align__(16) Quad {
  float f[4];
};

__device__ __forceinline__ Quad load(const Quad* from) {
  Quad q;
  asm volatile("ld.global.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(q.f[0]), "=f"(q.f[1]), "=f"(q.f[2]), "=f"(q.f[3])
               : "l"(from));
  return q;
}

extern "C" __global__ __launch_bounds__(THREADS) void intensity(const Quad* data, u64 n, float a,
                                                                 float b, float* out) {
  float sum[4] = {0, 0, 0, 0};
  const u64 quads = n / 4;
  for (u64 first = (u64)blockIdx.x * THREADS * UNROLL; first < quads;
       first += (u64)gridDim.x * THREADS * UNROLL) {
    Quad got[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) got[u] = load(data + first + u * THREADS + threadIdx.x);
#if FLOP < 8
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
      for (int i = 0; i < FLOP; i++) sum[i] += got[u].f[i];
#else
    // One multiply-add joins the sum, the others work on the float itself.
#pragma unroll STEPS_UNROLLED
    for (int step = 1; step < FLOP / 8; step++)
#pragma unroll
      for (int u = 0; u < UNROLL; u++)
#pragma unroll
        for (int i = 0; i < 4; i++) got[u].f[i] = fmaf(got[u].f[i], a, b);
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
      for (int i = 0; i < 4; i++) sum[i] = fmaf(got[u].f[i], a, sum[i]);
#endif
  }
  out[blockIdx.x * THREADS + threadIdx.x] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
