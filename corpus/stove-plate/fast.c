/* Heat spreads over a plate: bands of rows, a thread each, that meet at a barrier after each step. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 384, COLUMNS = 256 };

struct plate {
    double heat[2][ROWS + 2][COLUMNS + 2];
    pthread_barrier_t step_done;
    unsigned steps;
};

struct band {
    struct plate *plate;
    int first, last;
};

static struct plate plate;

static int threads_for(int rows)
{
    /* A thread for each processor. */
    int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return processors < rows ? processors : rows;
}

static void relax_rows(struct plate *plate, int from, int first, int last)
{
    for (int row = first; row < last; row++) {
        const double *above = plate->heat[from][row - 1], *here = plate->heat[from][row],
                     *below = plate->heat[from][row + 1];
        for (int column = 1; column <= COLUMNS; column++)
            plate->heat[!from][row][column] =
                0.25 * (above[column] + below[column] + here[column - 1] + here[column + 1]);
    }
}

static void *relax_band(void *argument)
{
    struct band *band = argument;
    for (unsigned step = 0; step < band->plate->steps; step++) {
        relax_rows(band->plate, step & 1, band->first, band->last);
        pthread_barrier_wait(&band->plate->step_done);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    plate.steps = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
    for (int column = 0; column < COLUMNS + 2; column++)
        plate.heat[0][0][column] = plate.heat[1][0][column] = 100;
    int threads = threads_for(ROWS);
    pthread_t *running = calloc((size_t)threads, sizeof *running);
    struct band *bands = calloc((size_t)threads, sizeof *bands);
    pthread_barrier_init(&plate.step_done, NULL, (unsigned)threads);
    for (int t = 0; t < threads; t++) {
        bands[t] = (struct band){&plate, 1 + ROWS * t / threads, 1 + ROWS * (t + 1) / threads};
        pthread_create(&running[t], NULL, relax_band, &bands[t]);
    }
    for (int t = 0; t < threads; t++)
        pthread_join(running[t], NULL);
    double sum = 0;
    for (int row = 1; row <= ROWS; row++)
        for (int column = 1; column <= COLUMNS; column++)
            sum += plate.heat[0][row][column];
    printf("%.6f\n", sum);
    free(running);
    free(bands);
    return 0;
}
