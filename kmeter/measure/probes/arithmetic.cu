// CHAINS independent chains of one instruction a thread, UNROLL steps of them a pass.
//
// x = x * a + a keeps its data moving, and with a between -1 and 0 near a / (1 - a). One constant
// where two would do leaves the registers' banks free. No compiler may fold floating point, and
// integers have no closed form here since a comes at run time. The probe counts the instructions in
// the compiled code, and compares every chain's end with one computed on the host.

#if defined(FP32)
typedef float Value;
#define STEP(x) x = fmaf(x, a, a)
#elif defined(FP64)
typedef double Value;
#define STEP(x) x = fma(x, a, a)
#elif defined(FP16X2)
typedef u32 Value;
#define STEP(x) asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(a))
#elif defined(BF16X2)
typedef u32 Value;
#define STEP(x) asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(a))
#elif defined(INT32)
typedef u32 Value;
#define STEP(x) x = x * a + a
#elif defined(DP4A)
typedef int Value;
#define STEP(x) x = __dp4a(x, a, a)
#elif defined(EX2)
// Nothing but ex2 moves: 2^-x stays in (0, 1], and each chain tends to 0.6412 from its own start.
typedef float Value;
#define STEP(x) asm("{.reg .f32 t; neg.f32 t, %0; ex2.approx.ftz.f32 %0, t;}" : "+f"(x))
#endif

extern "C" __global__ __launch_bounds__(THREADS) void arithmetic(const Value* start, Value a,
                                                                  u32 passes, Value* out,
                                                                  u64* elapsed) {
  Value x[CHAINS];
#pragma unroll
  for (int c = 0; c < CHAINS; c++) x[c] = start[c * THREADS + threadIdx.x];
  Moment began = now();
#pragma unroll 1
  for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
      for (int c = 0; c < CHAINS; c++) STEP(x[c]);
  }
  tell_clock(began, elapsed);
  Value* own = out + (u64)blockIdx.x * CHAINS * THREADS;
#pragma unroll
  for (int c = 0; c < CHAINS; c++) own[c * THREADS + threadIdx.x] = x[c];
}
