// Launch bounds of one number and of more, a limit of registers, and work that would like to have more.

#if __CUDA_ARCH__ >= 900
#define MOST_BLOCKS_OF_A_CLUSTER(COUNT) , COUNT
#else
#define MOST_BLOCKS_OF_A_CLUSTER(COUNT)
#endif

template <int SIZE>
__device__ __forceinline__ void chew(const float *in, float *out)
{
    float kept[SIZE];
#pragma unroll
    for (int i = 0; i < SIZE; ++i)
        kept[i] = in[i * 32 + threadIdx.x];
#pragma unroll
    for (int i = 0; i < SIZE; ++i)
        kept[i] = fmaf(kept[i], kept[(i * 5 + 1) % SIZE], kept[(i + SIZE / 2) % SIZE]);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SIZE; ++i)
        out[i * 32 + threadIdx.x] = kept[i];
}

extern "C" __global__ void unbounded(const float *in, float *out) { chew<24>(in, out); }

extern "C" __global__ void __launch_bounds__(1) one_thread(const float *in, float *out)
{
    chew<8>(in, out);
}

extern "C" __global__ void __launch_bounds__(96) bounds_96(const float *in, float *out)
{
    chew<24>(in, out);
}

extern "C" __global__ void __launch_bounds__(100) bounds_100(const float *in, float *out)
{
    chew<24>(in, out);
}

extern "C" __global__ void __launch_bounds__(256, 4) bounds_256_4(const float *in, float *out)
{
    chew<72>(in, out);
}

extern "C" __global__ void __launch_bounds__(512, 2) bounds_512_2(const float *in, float *out)
{
    chew<64>(in, out);
}

extern "C" __global__ void __launch_bounds__(1024, 1) bounds_1024_1(const float *in, float *out)
{
    chew<48>(in, out);
}

extern "C" __global__ void __launch_bounds__(128, 1 MOST_BLOCKS_OF_A_CLUSTER(4))
    bounds_128_1_4(const float *in, float *out)
{
    chew<32>(in, out);
}

extern "C" __global__ void __maxnreg__(40) at_most_40(const float *in, float *out)
{
    chew<48>(in, out);
}

template <typename T, int N>
__global__ void __launch_bounds__(N) bounded(T *data)
{
    data[threadIdx.x] = data[threadIdx.x] * data[threadIdx.x + N];
}

template __global__ void bounded<float, 64>(float *);
template __global__ void bounded<double, 192>(double *);
