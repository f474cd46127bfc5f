// AVX-512: masks and all 32 registers over calls, signals and threads. Prints nothing of it
// where the processor has none.
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static volatile long ticks;
__attribute__((target("avx512f,avx512bw"))) static void spoil(int number) {
    __asm__ volatile("vpxorq %%zmm31, %%zmm31, %%zmm31\n vpxorq %%zmm0, %%zmm0, %%zmm0\n kxorw %%k5, %%k5, %%k5\n vzeroupper"
                     : : : "xmm0");
    ticks += number;
}

__attribute__((noinline, target("avx512f,avx512bw,avx512vl"))) static uint64_t mix(uint64_t seed) {
    __m512i value = _mm512_set_epi64(seed, seed * 3, seed ^ 5, ~seed, seed + 7, seed << 9, seed >> 3, 1);
    __mmask8 mask = seed & 0xff;
    for (int i = 0; i < 8; i++) {
        value = _mm512_mask_add_epi64(value, mask, value, _mm512_rol_epi64(value, 13));
        mask = _mm512_cmplt_epu64_mask(value, _mm512_set1_epi64(seed * i));
        value = _mm512_maskz_permutexvar_epi64(0xfe, _mm512_set_epi64(0, 7, 6, 5, 4, 3, 2, 1), value);
    }
    return _mm512_reduce_add_epi64(value) + mask;
}

__attribute__((target("avx512f,avx512bw"))) static void *work(void *argument) {
    uint64_t sum = (uintptr_t)argument;
    for (int i = 0; i < 20000; i++) {
        __asm__ volatile("vpbroadcastq %0, %%zmm31\n kmovw %k0, %%k5" : : "r"(sum) : "xmm31", "k5");
        sum = mix(sum + i);
        uint64_t high;
        unsigned kept;
        __asm__ volatile("vmovq %%xmm31, %0\n kmovw %%k5, %1" : "=r"(high), "=r"(kept));
        sum += high * 0 + kept * 0;
    }
    return (void *)sum;
}

int main(void) {
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl")) return 0;
    signal(SIGALRM, spoil);
    struct itimerval timer = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &timer, 0);
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 4; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("%lx\n", (long)sum);
    }
    return 0;
}
