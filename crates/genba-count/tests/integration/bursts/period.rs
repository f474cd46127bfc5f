//! A program without libraries that does the same again and again, with the same addresses and
//! values, so that any burst of it is a part of every two periods in a row.

/// Its source. `PERIODS` is how often it does it.
pub const SOURCE: &str = r#"
typedef unsigned long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef double pair __attribute__((vector_size(16)));
#define NOINLINE __attribute__((noinline, noclone))

volatile u8 bytes[64];
volatile u16 halves[64];
volatile u32 words[64];
volatile u64 longs[64];
volatile pair pairs[16];
volatile long double extended[4];
char from[256], to[256];
u64 state;

static inline u64 next(void) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return state >> 33;
}
NOINLINE u64 leaf_a(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) { longs[a & 63] += b; return a + b * 3 + c - d + e * f; }
NOINLINE u64 leaf_b(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) { words[b & 63] ^= (u32)a; return a ^ b ^ c ^ d ^ e ^ f; }
NOINLINE u64 deep(u64 n) { return n == 0 ? next() : deep(n - 1) * 3 + n; }
u64 (*const table[2])(u64, u64, u64, u64, u64, u64) = { leaf_a, leaf_b };

NOINLINE u64 choose(u64 n) {
    switch (n & 7) {
    case 0: bytes[n & 63]++; return 1;
    case 1: halves[n & 63] -= 3; return bytes[1];
    case 2: words[n & 63] *= 5; return halves[2];
    case 3: longs[n & 63] = n; return words[3];
    case 4: pairs[n & 15] += (pair){ 1.5, (double)n }; return 5;
    case 5: extended[n & 3] = (long double)n / 3; return extended[n & 3] > 100;
    case 6: return deep(n & 15);
    default: return __atomic_fetch_add(&longs[7], n, __ATOMIC_SEQ_CST);
    }
}
NOINLINE void strings(u64 n) {
    void *d = to, *s = from;
    u64 c = n & 127;
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(c) : : "memory");
    d = to; c = n & 15;
    __asm__ volatile("rep stosq" : "+D"(d), "+c"(c) : "a"(n) : "memory");
    d = to + 200; s = from + 200; c = n & 31;
    __asm__ volatile("std; rep movsb; cld" : "+D"(d), "+S"(s), "+c"(c) : : "memory");
    d = to; c = 255;
    __asm__ volatile("repne scasb" : "+D"(d), "+c"(c) : "a"(n) : "memory", "cc");
    d = to; s = from;
    __asm__ volatile("movsq; lodsl" : "+D"(d), "+S"(s) : : "rax", "memory");
}
NOINLINE void registers(u64 n) {
    __asm__ volatile(
        "push %%rax; push %%rcx; lea (%0,%0,2), %%rax; mov $3, %%ecx\n"
        "1: cmp %%rcx, %%rax; mov (%1,%%rcx,8), %%rdx; mov %%rdx, 8(%1,%%rcx,8); mov %%rax, (%1)\n"
        "setb (%1); adcq $0, 16(%1); movl 4(%1), %%eax; xchg %%rcx, 24(%1); xchg %%rcx, 24(%1)\n"
        "pushq 8(%1); popq 32(%1); loop 1b; jrcxz 2f; ud2\n"
        "2: pop %%rcx; pop %%rax\n"
        "mov %1, %%rcx; mov (%%rcx), %%rcx; mov %1, %%rax; mov 8(%%rax), %%rax; movups 16(%1), %%xmm1; movups %%xmm1, 32(%1)\n"
#ifdef AVX
        "vmovups 0(%1), %%ymm2; vaddps 32(%1), %%ymm2, %%ymm2; vmovups %%ymm2, 64(%1); vzeroupper\n"
#endif
        : : "r"(n), "r"(longs) : "rax", "rcx", "rdx", "memory", "cc", "xmm1", "xmm2");
}
NOINLINE void period(void) {
    state = 42;
    for (int i = 0; i < 64; i++) { bytes[i] = 0; halves[i] = 0; words[i] = 0; longs[i] = i; }
    for (int i = 0; i < 16; i++) pairs[i] = (pair){ 0, 0 };
    for (int i = 0; i < 4; i++) extended[i] = 0;
    for (int i = 0; i < 256; i++) { from[i] = (char)(i * 7); to[i] = 0; }
    for (int i = 0; i < 100; i++) {
        u64 n = next();
        u64 m = choose(n) + table[n >> 5 & 1](n, state, 3, 4, 5, i);
        if (m % 3 == 0) strings(n);
        else registers(n & 7);
    }
}
/* Nothing else uses it, so it is never in memory. */
register long left __asm__("r15");
char stack[1 << 16] __attribute__((aligned(64)));
__asm__(".globl _start\n_start: lea stack+65536(%rip), %rsp\n xor %ebp, %ebp\n call run\n ud2");
void run(void) {
    for (left = PERIODS; left != 0; left--) period();
    __asm__ volatile("syscall" : : "a"(60), "D"(0));
}
"#;
