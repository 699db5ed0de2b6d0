// A chain of dependent loads: each says where the next one lies. One thread, nothing in between.

#define CHASE(name, instruction, type, constraint)                                    \
  for (u32 i = 0; i < hops; i += 8) {                                                   \
    _Pragma("unroll") for (int u = 0; u < 8; u++)                                       \
        asm volatile(instruction " %0, [%0];" : "+" constraint(name)::"memory");       \
  }

// `at` says where in a ring of addresses the walk begins, and afterwards where it ended. The first
// `warm_hops` are not timed.
#define GLOBAL_CHASE(kernel, instruction)                                                   \
  extern "C" __global__ void kernel(u64* at_end, u32 hops, u32 warm_hops, u64* elapsed) {   \
    u64 at = *at_end;                                                                       \
    for (u32 i = 0; i < warm_hops; i++)                                                     \
      asm volatile(instruction " %0, [%0];" : "+l"(at)::"memory");                          \
    Moment start = now();                                                                   \
    CHASE(at, instruction, u64, "l")                                                        \
    tell_clock(start, elapsed);                                                             \
    *at_end = at;                                                                           \
  }

GLOBAL_CHASE(chase_l1, "ld.global.ca.u64")
GLOBAL_CHASE(chase_l2, "ld.global.cg.u64")

// A ring of `n` places in shared memory, each holding the address of the one after `step` places.
extern "C" __global__ void chase_shared(u32 n, u32 step, u32 hops, u64* last, u64* elapsed) {
  __shared__ u32 ring[1024];
  u32 base = (u32)__cvta_generic_to_shared(ring);
  for (u32 i = 0; i < n; i++) ring[i] = base + (i + step) % n * 4;
  u32 at = base;
  Moment start = now();
  CHASE(at, "ld.shared.u32", u32, "r")
  tell_clock(start, elapsed);
  *last = (at - base) / 4;
}

// A ring through memory: place i of n holds the address of place (a * i + c) mod n, a full period.
extern "C" __global__ void make_ring(u64* ring, u32 n, u32 stride_words, u32 a, u32 c) {
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    ring[(u64)i * stride_words] = (u64)(ring + (u64)((a * (u64)i + c) % n) * stride_words);
}
