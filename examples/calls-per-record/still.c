/* Makes tcbtest do the same in every run: preloaded by `check`, and only there.
 *
 * Debian's Tokyo Cabinet calls sched_yield every so many rounds of a loop, and begins to count
 * again at time(NULL) modulo 4096; tcbtest prints a seed, times, and the state of the machine.
 */
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

time_t time(time_t *to)
{
    if (to != NULL)
        *to = 1000000000;
    return 1000000000;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone)
{
    (void)zone;
    *to = (struct timeval){.tv_sec = 1000000000};
    return 0;
}

/* Tokyo Cabinet's: seconds, and a map with the machine's state or NULL. */
double tctime(void)
{
    return 1e9;
}

void *tcsysinfo(void)
{
    return NULL;
}
