/* Preloaded, it tells MKL that every processor is Intel's: on others it takes AVX2 kernels where
 * AVX-512 ones would run. */
int mkl_serv_intel_cpu_true(void) { return 1; }
