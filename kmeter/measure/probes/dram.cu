// BabelStream's kernels, read and write beside them, over arrays far larger than L2.
//
// A block moves a tile of blockDim.x * UNROLL vectors of WORDS words: consecutive threads touch
// consecutive vectors, and a thread has all its loads in flight before it uses the first. Arrays
// hold a whole number of tiles, so that no load is guarded. HINT says how caches are used. Which
// UNROLL, WORDS, HINT, CHUNKED, block and grid is fastest, the probe finds out.

#if HINT == 1  // the first to leave L2
#define LOAD "ld.global.cs"
#define STORE "st.global.cs"
#elif HINT == 2  // past L1, and 256 bytes at once from DRAM
#define LOAD "ld.global.L1::no_allocate.L2::256B"
#define STORE "st.global.L1::no_allocate"
#else
#define LOAD "ld.global"
#define STORE "st.global"
#endif

struct Vector {
  u32 word[WORDS];
};

__device__ __forceinline__ Vector load(const Vector* from) {
  Vector v;
#if WORDS == 8
  asm volatile(LOAD ".v8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]),
                 "=r"(v.word[4]), "=r"(v.word[5]), "=r"(v.word[6]), "=r"(v.word[7])
               : "l"(from));
#elif WORDS == 4
  asm volatile(LOAD ".v4.b32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
               : "l"(from));
#else
  asm volatile(LOAD ".v2.b32 {%0,%1}, [%2];" : "=r"(v.word[0]), "=r"(v.word[1]) : "l"(from));
#endif
  return v;
}

__device__ __forceinline__ void store(Vector* to, const Vector& v) {
#if WORDS == 8
  asm volatile(STORE ".v8.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8};" ::"l"(to), "r"(v.word[0]),
               "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3]), "r"(v.word[4]), "r"(v.word[5]),
               "r"(v.word[6]), "r"(v.word[7])
               : "memory");
#elif WORDS == 4
  asm volatile(STORE ".v4.b32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(v.word[0]), "r"(v.word[1]),
               "r"(v.word[2]), "r"(v.word[3])
               : "memory");
#else
  asm volatile(STORE ".v2.b32 [%0], {%1,%2};" ::"l"(to), "r"(v.word[0]), "r"(v.word[1])
               : "memory");
#endif
}

struct Tile {
  Vector v[UNROLL];

  __device__ __forceinline__ void load(const Vector* array, u64 first) {
#pragma unroll
    for (int u = 0; u < UNROLL; u++) v[u] = ::load(array + first + u * blockDim.x + threadIdx.x);
  }

  __device__ __forceinline__ void store(Vector* array, u64 first) const {
#pragma unroll
    for (int u = 0; u < UNROLL; u++) ::store(array + first + u * blockDim.x + threadIdx.x, v[u]);
  }
};

// Each float of the tile from itself and its neighbour in another tile.
template <typename Operation>
__device__ __forceinline__ void combine(Tile& tile, const Tile& other, Operation operation) {
#pragma unroll
  for (int u = 0; u < UNROLL; u++)
#pragma unroll
    for (int w = 0; w < WORDS; w++)
      tile.v[u].word[w] = __float_as_uint(operation(__uint_as_float(tile.v[u].word[w]),
                                                    __uint_as_float(other.v[u].word[w])));
}

// The tiles of a block: every gridDim.x-th of all, or where CHUNKED is set, a chunk of neighbours.
struct Tiles {
  u64 first, end, step;

  __device__ __forceinline__ explicit Tiles(u64 vectors) {
    const u64 tile = (u64)blockDim.x * UNROLL;
#if CHUNKED
    const u64 chunk = (vectors / tile + gridDim.x - 1) / gridDim.x * tile;
    first = blockIdx.x * chunk;
    end = first + chunk < vectors ? first + chunk : vectors;
    step = tile;
#else
    first = blockIdx.x * tile;
    end = vectors;
    step = gridDim.x * tile;
#endif
  }
};

#define FOR_EACH_TILE(first, n)                             \
  const Tiles tiles((n) / WORDS);                           \
  for (u64 first = tiles.first; first < tiles.end; first += tiles.step)

extern "C" __global__ void dram_read(const Vector* a, u64 n, u32* sum) {
  u32 own = 0;
  FOR_EACH_TILE(first, n) {
    Tile tile;
    tile.load(a, first);
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
      for (int w = 0; w < WORDS; w++) own += tile.v[u].word[w];
  }
  own = warp_sum(own);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

// The same from both halves at once: two streams keep more pages of DRAM open.
extern "C" __global__ void dram_read_halves(const Vector* a, u64 n, u32* sum) {
  u32 own = 0;
  FOR_EACH_TILE(first, n / 2) {
    Tile tile, other;
    tile.load(a, first);
    other.load(a + n / 2 / WORDS, first);
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
      for (int w = 0; w < WORDS; w++) own += tile.v[u].word[w] + other.v[u].word[w];
  }
  own = warp_sum(own);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

extern "C" __global__ void dram_write(Vector* a, u64 n, u32 seed) {
  FOR_EACH_TILE(first, n) {
    Tile tile;
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
      for (int w = 0; w < WORDS; w++)
        tile.v[u].word[w] =
            (u32)((first + u * blockDim.x + threadIdx.x) * WORDS + w) * 0x9E3779B9u + seed;
    tile.store(a, first);
  }
}

extern "C" __global__ void dram_copy(const Vector* a, Vector* c, u64 n) {
  FOR_EACH_TILE(first, n) {
    Tile tile;
    tile.load(a, first);
    tile.store(c, first);
  }
}

extern "C" __global__ void dram_scale(const Vector* a, Vector* c, u64 n, float x) {
  FOR_EACH_TILE(first, n) {
    Tile tile;
    tile.load(a, first);
    combine(tile, tile, [x](float one, float) { return x * one; });
    tile.store(c, first);
  }
}

extern "C" __global__ void dram_add(const Vector* a, const Vector* b, Vector* c, u64 n) {
  FOR_EACH_TILE(first, n) {
    Tile tile, other;
    tile.load(a, first);
    other.load(b, first);
    combine(tile, other, [](float one, float two) { return one + two; });
    tile.store(c, first);
  }
}

extern "C" __global__ void dram_triad(const Vector* a, const Vector* b, Vector* c, u64 n, float y) {
  FOR_EACH_TILE(first, n) {
    Tile tile, other;
    tile.load(a, first);
    other.load(b, first);
    combine(tile, other, [y](float one, float two) { return fmaf(1.0f, one, y * two); });
    tile.store(c, first);
  }
}

extern "C" __global__ void dram_dot(const Vector* a, const Vector* b, u64 n, double* sum) {
  double total = 0;
  FOR_EACH_TILE(first, n) {
    Tile tile, other;
    tile.load(a, first);
    other.load(b, first);
    float own = 0;
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
      for (int w = 0; w < WORDS; w++)
        own = fmaf(__uint_as_float(tile.v[u].word[w]), __uint_as_float(other.v[u].word[w]), own);
    total += own;
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) total += __shfl_xor_sync(0xffffffffu, total, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, total);
}
