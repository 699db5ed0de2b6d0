// One warp's multiply, mma.sync: operands and sums in registers.
//
// A warp holds ROWS fragments of A and COLUMNS of B, and adds each product to a sum of its own, so
// that ROWS x COLUMNS instructions are independent. As in wgmma.cu, a pass that adds is followed by
// one that subtracts (A with its signs turned), one more adds at the end, and A x B is left.
// Integers add all the time and wrap.

#if defined(FP64_M16N8K16)
typedef double Sum;
#define A_REGISTERS 8
#define B_REGISTERS 4
#define C_REGISTERS 4
#define SHAPE "m16n8k16.row.col.f64.f64.f64.f64"
#elif defined(FP64_M8N8K4)
typedef double Sum;
#define A_REGISTERS 1
#define B_REGISTERS 1
#define C_REGISTERS 2
#define SHAPE "m8n8k4.row.col.f64.f64.f64.f64"
#else
#define A_REGISTERS 4
#define B_REGISTERS 2
#if defined(FP16_FP16_ACCUMULATE)
#define C_REGISTERS 2
#define SHAPE "m16n8k16.row.col.f16.f16.f16.f16"
#define SIGNS 0x80008000u
#else
#define C_REGISTERS 4
#endif
#if defined(FP16)
#define SHAPE "m16n8k16.row.col.f32.f16.f16.f32"
#define SIGNS 0x80008000u
#elif defined(BF16)
#define SHAPE "m16n8k16.row.col.f32.bf16.bf16.f32"
#define SIGNS 0x80008000u
#elif defined(TF32)
#define SHAPE "m16n8k8.row.col.f32.tf32.tf32.f32"
#define SIGNS 0x80000000u
#elif defined(FP8)
#define SHAPE "m16n8k32.row.col.f32.e4m3.e4m3.f32"
#define SIGNS 0x80808080u
#elif defined(INT8)
#define SHAPE "m16n8k32.row.col.s32.s8.s8.s32"
#define SIGNS 0u
#endif
#if defined(INT8) || defined(FP16_FP16_ACCUMULATE)
typedef u32 Sum;
#else
typedef float Sum;
#endif
#endif

#if defined(FP64_M16N8K16) || defined(FP64_M8N8K4)
typedef double Operand;
__device__ __forceinline__ double turned(double x) { return -x; }
#else
typedef u32 Operand;
__device__ __forceinline__ u32 turned(u32 x) { return x ^ SIGNS; }
#endif

__device__ __forceinline__ void multiply(Sum (&c)[C_REGISTERS], const Operand (&a)[A_REGISTERS],
                                         const Operand (&b)[B_REGISTERS]) {
#if defined(FP64_M16N8K16)
  asm volatile("mma.sync.aligned." SHAPE
               " {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                 "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#elif defined(FP64_M8N8K4)
  asm volatile("mma.sync.aligned." SHAPE " {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a[0]), "d"(b[0]));
#elif defined(FP16_FP16_ACCUMULATE)
  asm volatile("mma.sync.aligned." SHAPE " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
               : "+r"(c[0]), "+r"(c[1])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif defined(INT8)
  asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// `a` holds ROWS x A_REGISTERS x 32 operands, `b` COLUMNS x B_REGISTERS x 32: a register of all
// lanes side by side. `out` takes ROWS x COLUMNS x C_REGISTERS of every thread.
extern "C" __global__ __launch_bounds__(THREADS) void mma(const Operand* a, const Operand* b,
                                                           u32 passes, Sum* out, u64* elapsed) {
  const u32 lane = threadIdx.x % 32;
  Operand plus[ROWS][A_REGISTERS], minus[ROWS][A_REGISTERS], right[COLUMNS][B_REGISTERS];
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int i = 0; i < A_REGISTERS; i++) {
      plus[r][i] = a[(r * A_REGISTERS + i) * 32 + lane];
      minus[r][i] = turned(plus[r][i]);
    }
#pragma unroll
  for (int c = 0; c < COLUMNS; c++)
#pragma unroll
    for (int i = 0; i < B_REGISTERS; i++) right[c][i] = b[(c * B_REGISTERS + i) * 32 + lane];
  Sum sum[ROWS][COLUMNS][C_REGISTERS] = {};

  Moment start = now();
#pragma unroll 1
  for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) multiply(sum[r][c], plus[r], right[c]);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) multiply(sum[r][c], minus[r], right[c]);
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) multiply(sum[r][c], plus[r], right[c]);
  tell_clock(start, elapsed);

#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
#pragma unroll
      for (int i = 0; i < C_REGISTERS; i++)
        out[((u64)blockIdx.x * ROWS * COLUMNS * C_REGISTERS + (r * COLUMNS + c) * C_REGISTERS + i) *
                THREADS +
            threadIdx.x] = sum[r][c][i];
}
