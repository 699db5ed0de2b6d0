// Filling and checking arrays. Nothing here is measured.

extern "C" __global__ void fill_words(u32* out, u64 n, u32 seed) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    out[i] = random_word(i, seed);
}

extern "C" __global__ void fill_floats(float* out, u64 n, u32 seed) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    out[i] = random_float(i, seed);
}

// The sum, modulo 2^32, of the words that fill_words writes: made from the indices, not read.
extern "C" __global__ void sum_of_words(u64 n, u32 seed, u32* sum) {
  u32 own = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    own += random_word(i, seed);
  own = warp_sum(own);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

// Words that differ from random_word(i, seed).
extern "C" __global__ void count_wrong_words(const u32* got, u64 n, u32 seed, u64* wrong) {
  u64 own = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    own += got[i] != random_word(i, seed);
  if (own) atomicAdd(wrong, own);
}

// Words that differ from what dram_write writes.
extern "C" __global__ void count_wrong_written(const u32* got, u64 n, u32 seed, u64* wrong) {
  u64 own = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    own += got[i] != (u32)i * 0x9E3779B9u + seed;
  if (own) atomicAdd(wrong, own);
}

// Words that differ from one value: what a memset leaves.
extern "C" __global__ void count_other_words(const u32* got, u64 n, u32 value, u64* wrong) {
  u64 own = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    own += got[i] != value;
  if (own) atomicAdd(wrong, own);
}

// Floats that differ from x * a[i] + y * b[i], a and b random with seed and seed + 1.
extern "C" __global__ void count_wrong_floats(const float* got, u64 n, float x, float y, u32 seed,
                                              u64* wrong) {
  u64 own = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    own += got[i] != fmaf(x, random_float(i, seed), y * random_float(i, seed + 1));
  if (own) atomicAdd(wrong, own);
}

// The sum of a[i] * b[i] in double, made from the indices.
extern "C" __global__ void sum_of_products(u64 n, u32 seed, double* sum) {
  double own = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    own += (double)random_float(i, seed) * random_float(i, seed + 1);
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) own += __shfl_xor_sync(0xffffffffu, own, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}
