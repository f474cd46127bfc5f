/* Checksums of records, as a shared library: every function is exported. */
#include <stddef.h>
#include <stdint.h>

uint32_t sum_step(uint32_t sum, uint8_t byte);
uint32_t sum_record(uint32_t sum, const uint8_t *record, size_t length);

uint32_t sum_step(uint32_t sum, uint8_t byte)
{
    sum += byte;
    return sum + (sum << 10);
}

uint32_t sum_record(uint32_t sum, const uint8_t *record, size_t length)
{
    for (size_t i = 0; i < length; i++)
        sum = sum_step(sum, record[i]);
    return sum ^ sum >> 6;
}
