/* A calculator for whole arrays: runs a program of operations on a stack, and reduces the result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "value.h"

enum operation { LOAD, ADD, MULTIPLY, LARGER, SMOOTH };

struct step {
    enum operation operation;
    int operand;
};

static double apply(enum operation operation, double x, double y)
{
    switch (operation) {
    case ADD:
        return x + y;
    case MULTIPLY:
        return x * y;
    default:
        return x > y ? x : y;
    }
}

static int is_plain(const struct array *a)
{
    return a->type == REAL && !a->missing;
}

static void combine_reals(enum operation operation, double *out, const double *x, const double *y, size_t length)
{
    switch (operation) {
    case ADD:
        for (size_t i = 0; i < length; i++)
            out[i] = x[i] + y[i];
        break;
    case MULTIPLY:
        for (size_t i = 0; i < length; i++)
            out[i] = x[i] * y[i];
        break;
    default:
        for (size_t i = 0; i < length; i++)
            out[i] = x[i] > y[i] ? x[i] : y[i];
    }
}

static struct array *combine(enum operation operation, const struct array *a, const struct array *b)
{
    size_t length = a->length < b->length ? a->length : b->length;
    struct array *out = array_new(REAL, length);
    if (is_plain(a) && is_plain(b)) {
        combine_reals(operation, out->reals, a->reals, b->reals, length);
        return out;
    }
    for (size_t i = 0; i < length; i++)
        out->reals[i] = apply(operation, array_number(a, i), array_number(b, i));
    return out;
}

static struct array *smooth(const struct array *a, int width)
{
    struct array *out = array_new(REAL, a->length);
    double keep = 1 - 1.0 / width, level = a->length ? array_number(a, 0) : 0;
    for (size_t i = 0; i < a->length; i++) {
        double x = array_number(a, i);
        if (!isnan(x))
            level = level * keep + x * (1 - keep);
        out->reals[i] = level;
    }
    return out;
}

static struct array *run(const struct step *program, int steps, struct array **inputs)
{
    struct array *stack[16];
    int borrowed[16], top = 0;
    for (int i = 0; i < steps; i++) {
        const struct step *s = &program[i];
        struct array *result;
        if (s->operation == LOAD) {
            borrowed[top] = 1;
            stack[top++] = inputs[s->operand];
            continue;
        }
        int used = s->operation == SMOOTH ? 1 : 2;
        top -= used;
        if (used == 1)
            result = smooth(stack[top], s->operand);
        else
            result = combine(s->operation, stack[top], stack[top + 1]);
        for (int k = 0; k < used; k++)
            if (!borrowed[top + k])
                array_free(stack[top + k]);
        borrowed[top] = 0;
        stack[top++] = result;
    }
    return stack[0];
}

static double total(const struct array *a)
{
    double sum = 0, lost = 0;
    for (size_t i = 0; i < a->length; i++) {
        double x = a->reals[i] - lost, next = sum + x;
        lost = (next - sum) - x;
        sum = next;
    }
    return sum;
}

int main(int argc, char **argv)
{
    size_t length = argc > 1 ? strtoul(argv[1], 0, 10) : 1000;
    int runs = argc > 2 ? atoi(argv[2]) : 10;
    struct array *inputs[4] = {array_new(REAL, length), array_new(REAL, length), array_new(REAL, length), array_new(SHORT, length)};
    uint32_t state = 41;
    for (size_t i = 0; i < length; i++) {
        for (int k = 0; k < 3; k++) {
            state = state * 1664525 + 1013904223;
            inputs[k]->reals[i] = (state >> 12) / 1048576.0 - 0.4;
        }
        inputs[3]->shorts[i] = (int16_t)(state >> 20 & 255);
    }
    static const struct step program[] = {
        {LOAD, 0}, {LOAD, 1}, {MULTIPLY, 0}, {LOAD, 2}, {LARGER, 0}, {LOAD, 0}, {ADD, 0}, {LOAD, 1},
        {LOAD, 2}, {ADD, 0}, {MULTIPLY, 0}, {SMOOTH, 20}, {LOAD, 3}, {ADD, 0}};
    double sum = 0;
    for (int r = 0; r < runs; r++) {
        struct array *result = run(program, sizeof program / sizeof *program, inputs);
        sum += total(result);
        inputs[r % 3]->reals[r % length] += 0.125;
        array_free(result);
    }
    printf("%.9f\n", sum);
    for (int k = 0; k < 4; k++)
        array_free(inputs[k]);
    return 0;
}
