/* What a driver of one key-value store implements; main.c does the rest.
 *
 * One store is open at a time. A function that returns false has said what went wrong by
 * kv_complain. */
#ifndef KV_H
#define KV_H

#include <stdbool.h>
#include <stdint.h>

/* Length of keys and of values: a decimal number, filled up with zeros. */
#define KV_SIZE 8

/* Opens FILE: anew for RECORDS records to come when writing, else as it is. */
bool kv_open(const char *file, bool writing, uint32_t records);

/* Stores a record that is not there yet. */
bool kv_put(const char key[KV_SIZE], const char value[KV_SIZE]);

/* Points VALUE at the record's value, which stays valid until the next call. */
bool kv_get(const char key[KV_SIZE], const char **value);

/* Writes everything out to the kernel, and closes. */
bool kv_close(void);

/* Says what went wrong, on standard error; returns false. */
bool kv_complain(const char *what, const char *why);

#endif
