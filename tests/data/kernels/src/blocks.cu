// The only block that runs, and the cluster beside it: from CUDA 13 and 9.0 on.

#if __CUDA_ARCH__ >= 900
#define BLOCK(...) __block_size__(__VA_ARGS__)
#else
#define BLOCK(...)
#endif

extern "C" __global__ void BLOCK((128, 1, 1)) block_128(float *data)
{
    data[threadIdx.x] += 1.0f;
}

extern "C" __global__ void BLOCK((8, 4, 3)) block_8_4_3(float *data)
{
    __shared__ float room[96];
    int at = threadIdx.x + 8 * (threadIdx.y + 4 * threadIdx.z);
    room[at] = data[at];
    __syncthreads();
    data[at] = room[95 - at];
}

extern "C" __global__ void BLOCK((33, 1, 1)) block_33(float *data)
{
    data[threadIdx.x] += 1.0f;
}

extern "C" __global__ void BLOCK((64, 2, 1), (2, 1, 1)) block_128_cluster_2(float *data)
{
    data[threadIdx.x] += 1.0f;
}
