// What needs a stack: arrays, calls, recursion, printf, registers that do not suffice.

#include <cstdio>

template <int SIZE>
__device__ __forceinline__ void hold(const double *in, double *out)
{
    double kept[SIZE];
#pragma unroll
    for (int i = 0; i < SIZE; ++i)
        kept[i] = in[i * 32 + threadIdx.x];
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < 100; ++round) {
#pragma unroll
        for (int i = 0; i < SIZE; ++i)
            kept[i] = fma(kept[i], kept[(i + 1) % SIZE], kept[(i + SIZE / 2) % SIZE]);
    }
#pragma unroll
    for (int i = 0; i < SIZE; ++i)
        out[i * 32 + threadIdx.x] = kept[i];
}

extern "C" __global__ void as_many_as_there_are(const double *in, double *out) { hold<130>(in, out); }

extern "C" __global__ void __launch_bounds__(1024, 2) spilling(const double *in, double *out)
{
    hold<24>(in, out);
}

extern "C" __global__ void __maxnreg__(24) spilling_at_24(const double *in, double *out)
{
    hold<16>(in, out);
}

extern "C" __global__ void array(const int *at, float *out)
{
    float kept[50];
    for (int i = 0; i < 50; ++i)
        kept[at[i] % 50] = out[i];
    out[threadIdx.x] = kept[at[threadIdx.x] % 50];
}

__device__ __noinline__ float far_away(float x, const int *at)
{
    float kept[10];
    for (int i = 0; i < 10; ++i)
        kept[at[i] % 10] = x * i;
    return kept[at[threadIdx.x] % 10];
}

extern "C" __global__ void calling(const int *at, float *out)
{
    out[threadIdx.x] = far_away(out[threadIdx.x], at) + far_away(out[threadIdx.x + 1], at + 1);
}

__device__ __noinline__ float meeting(float *room, float x)
{
    room[threadIdx.x % 32] = x;
    asm volatile("bar.sync 3, 64;" ::: "memory");
    return room[(threadIdx.x + 1) % 32];
}

extern "C" __global__ void calling_what_waits(float *out)
{
    __shared__ float room[32];
    out[threadIdx.x] = meeting(room, out[threadIdx.x]);
}

__device__ __noinline__ int depth(int n, int *seen)
{
    if (n < 2)
        return n;
    seen[n] += 1;
    return depth(n - 1, seen) + depth(n - 2, seen);
}

extern "C" __global__ void recursive(int n, int *seen) { seen[0] = depth(n, seen); }

extern "C" __global__ void speaking(const float *in)
{
    printf("%d: %f, %s\n", (int)threadIdx.x, in[threadIdx.x], "a word");
}

using Step = float (*)(float);
__device__ __noinline__ float half(float x) { return x * 0.5f; }
__device__ __noinline__ float twice(float x) { return x + x; }

extern "C" __global__ void through_a_pointer(float *data, int which)
{
    Step step = which ? half : twice;
    data[threadIdx.x] = step(data[threadIdx.x]);
}

extern "C" __global__ void far_too_big(const int *at, float *data)
{
    float room[4000];
    for (int i = 0; i < 4000; ++i)
        room[at[i] % 4000] = data[i];
    data[threadIdx.x] = room[at[threadIdx.x] % 4000];
}
