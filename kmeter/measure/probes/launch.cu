// Nothing: what a launch costs by itself.

extern "C" __global__ void empty() {}

// Holds its stream until the host says go, so that launches queue up behind it.
extern "C" __global__ void wait_for(volatile int* go) {
  while (*go == 0) {
  }
}
