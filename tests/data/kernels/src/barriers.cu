// Named barriers: none, the one of __syncthreads, some, all 16, and one whose number is known when it runs.

template <int FIRST, int COUNT>
__device__ __forceinline__ void meet()
{
    asm volatile("bar.sync %0, %1;" ::"n"(FIRST), "r"(64) : "memory");
    if constexpr (COUNT > 1)
        meet<FIRST + 1, COUNT - 1>();
}

template <int COUNT>
__global__ void barriers(const float *in, float *out)
{
    __shared__ float room[64];
    room[threadIdx.x % 64] = in[threadIdx.x];
    meet<0, COUNT>();
    out[threadIdx.x] = room[(threadIdx.x + 1) % 64];
}

template __global__ void barriers<1>(const float *, float *);
template __global__ void barriers<2>(const float *, float *);
template __global__ void barriers<4>(const float *, float *);
template __global__ void barriers<7>(const float *, float *);
template __global__ void barriers<15>(const float *, float *);
template __global__ void barriers<16>(const float *, float *);

extern "C" __global__ void no_barrier(float *out) { out[threadIdx.x] = threadIdx.x; }

extern "C" __global__ void the_ninth_alone(const float *in, float *out)
{
    __shared__ float room[64];
    room[threadIdx.x % 64] = in[threadIdx.x];
    meet<9, 1>();
    out[threadIdx.x] = room[(threadIdx.x + 1) % 64];
}

extern "C" __global__ void any_barrier(const float *in, float *out, int number)
{
    __shared__ float room[64];
    room[threadIdx.x % 64] = in[threadIdx.x];
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(64) : "memory");
    out[threadIdx.x] = room[(threadIdx.x + 1) % 64];
}

extern "C" __global__ void voted(const int *in, int *out)
{
    out[threadIdx.x] = __syncthreads_count(in[threadIdx.x]);
}
