/* The scanner's interface. */
#ifndef SCAN_H
#define SCAN_H
#include <stddef.h>
#include <stdint.h>

struct scan_counters {
    unsigned long letters, digits, others;
    uint64_t digest;
};

void scan(const char *text, size_t n);
struct scan_counters scan_result(void);
#endif
