/* Books adjoining seats in a hall for customers who come in by several threads. The hall's lock is a futex word. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CLERKS = 3, SECTIONS = 12, ROWS = 40, SEATS = 120 };

/* 0 free, 1 held, 2 held and waited for. */
struct futex_lock {
    _Atomic uint32_t word;
};

struct section {
    struct futex_lock lock;
    uint8_t taken[ROWS][SEATS];
    uint64_t booked;
};

struct hall {
    struct section sections[SECTIONS];
};

struct clerk {
    struct hall *hall;
    unsigned number, customers;
};

static void futex_lock(struct futex_lock *lock)
{
    uint32_t seen = 0;
    if (atomic_compare_exchange_strong(&lock->word, &seen, 1))
        return;
    while (atomic_exchange(&lock->word, 2) != 0)
        syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void futex_unlock(struct futex_lock *lock)
{
    if (atomic_exchange(&lock->word, 0) == 2)
        syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The fewest seats that are left over beside `wanted` adjoining ones in this row, or -1. */
static int waste_in_row(const uint8_t *row, int wanted, int *from)
{
    int best = -1, run = 0;
    for (int seat = 0; seat <= SEATS; seat++) {
        if (seat < SEATS && !row[seat]) {
            run++;
            continue;
        }
        if (run >= wanted && (best < 0 || run - wanted < best)) {
            best = run - wanted;
            *from = seat - run;
        }
        run = 0;
    }
    return best;
}

/* Takes the seats that fit best; the customer of some rounds ago gives his back. */
static void take_best(struct section *section, int wanted, uint32_t chance)
{
    int row_best = -1, waste_best = SEATS, from_best = 0;
    for (int row = 0; row < ROWS; row++) {
        int from = 0, waste = waste_in_row(section->taken[row], wanted, &from);
        if (waste >= 0 && waste < waste_best) {
            waste_best = waste;
            row_best = row;
            from_best = from;
        }
    }
    if (row_best >= 0)
        for (int seat = 0; seat < wanted; seat++)
            section->taken[row_best][from_best + seat] = 1;
    int row = (int)(chance >> 8) % ROWS;
    for (int seat = (int)(chance >> 20) % SEATS, n = 0; seat < SEATS && n < wanted; seat++, n++)
        section->taken[row][seat] = 0;
    section->booked += (uint64_t)wanted;
}

static void book(struct hall *hall, int section, int wanted, uint32_t chance)
{
    futex_lock(&hall->sections[section].lock);
    take_best(&hall->sections[section], wanted, chance);
    futex_unlock(&hall->sections[section].lock);
}

static void *serve_customers(void *argument)
{
    struct clerk *clerk = argument;
    uint32_t state = clerk->number + 1;
    for (unsigned customer = 0; customer < clerk->customers; customer++) {
        state = state * 1664525 + 1013904223;
        /* Each clerk sells every third section. */
        int section = (int)(clerk->number + CLERKS * (state >> 30)) % SECTIONS;
        book(clerk->hall, section, 2 + (int)(state >> 27 & 3), state);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned customers = argc > 1 ? (unsigned)atoi(argv[1]) : 10000;
    static struct hall hall;
    struct clerk clerks[CLERKS];
    pthread_t threads[CLERKS];
    for (unsigned c = 0; c < CLERKS; c++) {
        clerks[c] = (struct clerk){&hall, c, customers};
        pthread_create(&threads[c], NULL, serve_customers, &clerks[c]);
    }
    for (unsigned c = 0; c < CLERKS; c++)
        pthread_join(threads[c], NULL);
    uint64_t sum = 0;
    for (int s = 0; s < SECTIONS; s++)
        for (int seat = 0; seat < ROWS * SEATS; seat++)
            sum = sum * 3 + hall.sections[s].taken[seat / SEATS][seat % SEATS] + hall.sections[s].booked;
    printf("%016lx\n", (unsigned long)sum);
    return 0;
}
