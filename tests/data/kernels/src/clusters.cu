// Clusters, which begin with 9.0: before it the attribute does not stand.

#if __CUDA_ARCH__ >= 900
#define CLUSTER(...) __cluster_dims__(__VA_ARGS__)
#define MOST_BLOCKS(COUNT) , COUNT
#else
#define CLUSTER(...)
#define MOST_BLOCKS(COUNT)
#endif

extern "C" __global__ void CLUSTER(1, 1, 1) cluster_1(float *data) { data[threadIdx.x] += 1.0f; }

extern "C" __global__ void CLUSTER(2, 1, 1) cluster_2(float *data) { data[threadIdx.x] += 1.0f; }

extern "C" __global__ void CLUSTER(2, 2, 2) cluster_2_2_2(float *data)
{
    __shared__ float room[77];
    room[threadIdx.x % 77] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = room[(threadIdx.x + 1) % 77];
}

extern "C" __global__ void CLUSTER(4, 1, 1) __launch_bounds__(384, 1)
    cluster_4_bounds_384(float *data)
{
    data[threadIdx.x] += 1.0f;
}

extern "C" __global__ void CLUSTER(1, 3, 1) cluster_1_3(float *data) { data[threadIdx.x] += 1.0f; }

extern "C" __global__ void __launch_bounds__(256, 1 MOST_BLOCKS(8)) at_most_8(float *data)
{
    data[threadIdx.x] += 1.0f;
}

extern "C" __global__ void synchronised(float *data)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
#endif
    data[threadIdx.x] += 1.0f;
}
