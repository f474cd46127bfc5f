// Multiplies matrices by blocks, with a register kernel that the compiler vectorises.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int N = 240, ROWS = 6, COLS = 16;

// ROWS x COLS of C over the whole depth; the sums stay in registers.
static void kernel(const float *__restrict a, const float *__restrict b, float *__restrict c)
{
    float sum[ROWS][COLS] = {};
    for (int k = 0; k < N; k++)
        for (int r = 0; r < ROWS; r++)
            for (int j = 0; j < COLS; j++)
                sum[r][j] += a[r * N + k] * b[k * N + j];
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < COLS; j++)
            c[r * N + j] += sum[r][j];
}

int main(int argc, char **argv)
{
    int passes = argc > 1 ? std::atoi(argv[1]) : 10;
    std::vector<float> a(N * N), b(N * N), c(N * N);
    uint32_t state = 1;
    for (int i = 0; i < N * N; i++) {
        a[i] = float((state = state * 1664525 + 1013904223) >> 29);
        b[i] = float((state = state * 1664525 + 1013904223) >> 29);
    }
    for (int p = 0; p < passes; p++) {
        a[p % a.size()] = 1.0f;
        for (int i = 0; i < N; i += ROWS)
            for (int j = 0; j < N; j += COLS)
                kernel(&a[i * N], &b[j], &c[i * N + j]);
        for (float &x : c)
            x -= 1024.0f * float(int(x) / 1024);
    }
    double sum = 0;
    for (float x : c)
        sum += x;
    std::printf("%.0f\n", sum);
}
