/* A controller of a motor: every ten milliseconds, on time, it computes the next voltage. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PERIOD_NANOSECONDS = 10000000, HORIZON = 200, CANDIDATES = 800 };

struct motor {
    double angle, speed;
};

static double cost_of(struct motor motor, double voltage, double target)
{
    double cost = 0;
    for (int step = 0; step < HORIZON; step++) {
        motor.speed += 0.01 * (voltage - motor.speed);
        motor.angle += 0.01 * motor.speed;
        cost += (motor.angle - target) * (motor.angle - target);
    }
    return cost;
}

static double best_voltage(const struct motor *motor, double target)
{
    double best = 0, least = 1e300;
    for (int candidate = 0; candidate < CANDIDATES; candidate++) {
        double voltage = candidate * (48.0 / CANDIDATES) - 24, cost = cost_of(*motor, voltage, target);
        if (cost < least) {
            least = cost;
            best = voltage;
        }
    }
    return best;
}

static void wait_for_period(struct timespec *next)
{
    next->tv_nsec += PERIOD_NANOSECONDS;
    if (next->tv_nsec >= 1000000000) {
        next->tv_nsec -= 1000000000;
        next->tv_sec++;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL) != 0)
        ;
}

int main(int argc, char **argv)
{
    int periods = argc > 1 ? atoi(argv[1]) : 50;
    struct motor motor = {0, 0};
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int period = 0; period < periods; period++) {
        double voltage = best_voltage(&motor, period / 50 % 2 ? 3 : 1);
        motor.speed += 0.01 * (voltage - motor.speed);
        motor.angle += 0.01 * motor.speed;
        wait_for_period(&next);
    }
    printf("%.9f\n", motor.angle);
    return 0;
}
