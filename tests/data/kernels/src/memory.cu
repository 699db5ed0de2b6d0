// Shared memory: none, sizes that are no multiple of anything, all that a kernel may declare, dynamic.

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void empty() {}

template <typename T, int BYTES>
__global__ void staged(const T *in, T *out, int k)
{
    __shared__ char room[BYTES];
    room[(threadIdx.x * 7) % BYTES] = (char)in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = (T)room[(threadIdx.x + k) % BYTES];
}

template __global__ void staged<float, 1>(const float *, float *, int);
template __global__ void staged<float, 37>(const float *, float *, int);
template __global__ void staged<double, 1000>(const double *, double *, int);
template __global__ void staged<int, 1023>(const int *, int *, int);
template __global__ void staged<int, 1024>(const int *, int *, int);
template __global__ void staged<int, 1025>(const int *, int *, int);
template __global__ void staged<float, 16387>(const float *, float *, int);
template __global__ void staged<double, 49152>(const double *, double *, int);

namespace mixed
{
struct Pair
{
    double key;
    char tag;
};

__global__ void several(const double *in, double *out)
{
    __shared__ char tag[3];
    __shared__ double sum[5];
    __shared__ Pair pair[7];
    int t = threadIdx.x;
    tag[t % 3] = (char)t;
    sum[t % 5] = in[t];
    pair[t % 7].key = in[t + 1];
    pair[t % 7].tag = tag[(t + 1) % 3];
    __syncthreads();
    out[t] = sum[(t + 1) % 5] + pair[(t + 2) % 7].key + pair[(t + 3) % 7].tag;
}
} // namespace mixed

__global__ void dynamic_alone(const float *in, float *out)
{
    extern __shared__ float tile[];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void dynamic_and_static(const float *in, float *out)
{
    extern __shared__ float tile[];
    __shared__ short counts[101];
    tile[threadIdx.x] = in[threadIdx.x];
    counts[threadIdx.x % 101] = (short)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x] + counts[(threadIdx.x + 1) % 101];
}
