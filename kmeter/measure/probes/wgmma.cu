// Hopper's warpgroup multiply: operands in shared memory, the sum in registers.
//
// Each of the WARPGROUPS of a block multiplies its own 64 rows of A with the same 256 columns of
// B, SLICES steps of 32 bytes along k, and the block goes over them again and again: nothing is
// loaded meanwhile, so that the tensor pipe alone sets the time. A pass that adds is followed by one
// that subtracts, which keeps the sums of a size at which no rounding is lost; one more adds at the
// end, and what is left is A x B, to be compared. Integers have no subtracting form: theirs wrap.
//
// Operands lie in core matrices of 8 rows x 16 bytes, one after the other, k halves outermost
// (PTX ISA, "Shared Memory Matrix Layout", no swizzle); the probe packs them so.

#if A_IN_REGISTERS
#define TRANSPOSED ", 0;"
#else
#define TRANSPOSED ", 0, 0;"
#endif
#if defined(FP16)
#define SHAPE "m64n256k16.f32.f16.f16"
#define TAIL TRANSPOSED
#elif defined(FP16_FP16_ACCUMULATE)
#define SHAPE "m64n256k16.f16.f16.f16"
#define TAIL TRANSPOSED
#elif defined(BF16)
#define SHAPE "m64n256k16.f32.bf16.bf16"
#define TAIL TRANSPOSED
#elif defined(TF32)
#define SHAPE "m64n256k8.f32.tf32.tf32"
#define TAIL ";"
#elif defined(FP8)
#define SHAPE "m64n256k32.f32.e4m3.e4m3"
#define TAIL ";"
#elif defined(INT8)
#define SHAPE "m64n256k32.s32.s8.s8"
#endif

#if defined(FP16_FP16_ACCUMULATE)
#define REGISTERS 64
#else
#define REGISTERS 128
#endif
#if defined(INT8) || defined(FP16_FP16_ACCUMULATE)
typedef u32 Sum;
#define EIGHT(d, i)                                                                       \
  "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), \
      "+r"(d[i + 6]), "+r"(d[i + 7])
#else
typedef float Sum;
#define EIGHT(d, i)                                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#endif

// A in registers: INPUTS names four of them in place of the descriptor.
#if REGISTERS == 64
#define NAMES \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
  "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define OPERANDS(d) \
  EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, \
  48), EIGHT(d, 56)
#if A_IN_REGISTERS
#define INPUTS "{%64,%65,%66,%67}, %68, p"
#else
#define INPUTS "%64, %65, p"
#endif
#else
#define NAMES \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
  "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63," \
  "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79," \
  "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95," \
  "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111," \
  "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define OPERANDS(d) \
  EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, \
  48), EIGHT(d, 56), EIGHT(d, 64), EIGHT(d, 72), EIGHT(d, 80), EIGHT(d, 88), EIGHT(d, 96), \
  EIGHT(d, 104), EIGHT(d, 112), EIGHT(d, 120)
#if A_IN_REGISTERS
#define INPUTS "{%128,%129,%130,%131}, %132, p"
#else
#define INPUTS "%128, %129, p"
#endif
#endif

#if defined(INT8)
#define SIGNED(sign) ";"
#define PASS_SIGN "1"
#else
#define SIGNED(sign) ", " sign ", 1" TAIL
#define PASS_SIGN "-1"
#endif

// d += a * b, or d -= a * b.
#if A_IN_REGISTERS
#define A_OPERANDS(s) "r"(a_held[s][0]), "r"(a_held[s][1]), "r"(a_held[s][2]), "r"(a_held[s][3])
#else
#define A_OPERANDS(s) "l"(a_at + (s) * (A_SLICE >> 4))
#endif
#define MULTIPLY(s, sign)                                                                 \
  asm volatile("{.reg .pred p; setp.eq.b32 p, 0, 0; "                                     \
               "wgmma.mma_async.sync.aligned." SHAPE " {" NAMES "}, " INPUTS SIGNED(sign) "}" \
               : OPERANDS(d)                                                                \
               : A_OPERANDS(s), "l"(b_at + (s) * (B_SLICE >> 4)))

// A matrix of `rows` rows in shared memory, as the tensor pipe is told of it.
__device__ __forceinline__ u64 descriptor(u32 address, u32 rows) {
  const u64 between_k_halves = rows * 16, between_row_groups = 128;
  return (address >> 4) | (between_k_halves >> 4) << 16 | (between_row_groups >> 4) << 32;
}

const u32 A_SLICE = 64 * 32, B_SLICE = 256 * 32;  // bytes

__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void finish() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// `a` holds WARPGROUPS x SLICES x A_SLICE bytes, `b` SLICES x B_SLICE, both packed.
extern "C" __global__ __launch_bounds__(WARPGROUPS * 128, 1) void wgmma(const uint4* a,
                                                                          const u32* a_words,
                                                                          const uint4* b,
                                                                          u32 passes, Sum* out,
                                                                          u64* elapsed) {
  extern __shared__ __align__(128) uint4 shared[];
  const u32 a_quads = WARPGROUPS * SLICES * A_SLICE / 16, b_quads = SLICES * B_SLICE / 16;
  for (u32 i = threadIdx.x; i < a_quads; i += blockDim.x) shared[i] = a[i];
  for (u32 i = threadIdx.x; i < b_quads; i += blockDim.x) shared[a_quads + i] = b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();

  const u32 warpgroup = threadIdx.x / 128;
  const u32 base = (u32)__cvta_generic_to_shared(shared);
  u64 a_at = descriptor(base + warpgroup * SLICES * A_SLICE, 64);
  u64 b_at = descriptor(base + WARPGROUPS * SLICES * A_SLICE, 256);
  Sum d[REGISTERS];
#pragma unroll
  for (int i = 0; i < REGISTERS; i++) d[i] = 0;
#if A_IN_REGISTERS
  u32 a_held[SLICES][4];
#pragma unroll
  for (int s = 0; s < SLICES; s++)
#pragma unroll
    for (int i = 0; i < 4; i++) a_held[s][i] = a_words[(s * 4 + i) * blockDim.x + threadIdx.x];
#endif

  Moment start = now();
  fence();
#pragma unroll 1
  for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
    for (int s = 0; s < SLICES; s++)
      MULTIPLY(s, "1");
#pragma unroll
    for (int s = 0; s < SLICES; s++)
      MULTIPLY(s, PASS_SIGN);
    finish();
    fence();
  }
#pragma unroll
  for (int s = 0; s < SLICES; s++)
    MULTIPLY(s, "1");
  finish();
  tell_clock(start, elapsed);

  Sum* own = out + (u64)blockIdx.x * blockDim.x * REGISTERS;
#pragma unroll
  for (int i = 0; i < REGISTERS; i++) own[i * blockDim.x + threadIdx.x] = d[i];
}
