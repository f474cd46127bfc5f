/* Makes the addresses of a blog's articles from their titles: "Über Äpfel!" is "uber-apfel",
   and an address that is taken gets a number. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slug.h"

struct entry {
    struct entry *next;
    uint32_t hash, uses;
    char slug[];
};

struct site {
    struct entry **buckets;
    uint32_t mask;
    size_t articles, renamed;
};

static uint32_t hash_of(const char *text, size_t length)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h ^ h >> 15;
}

static struct entry *find(const struct site *s, const char *slug, size_t length, uint32_t hash)
{
    struct entry *e = s->buckets[hash & s->mask];
    while (e && (e->hash != hash || memcmp(e->slug, slug, length + 1) != 0))
        e = e->next;
    return e;
}

static uint32_t publish(struct site *s, const char *title)
{
    char slug[LONGEST];
    size_t length = simplify(slug, title);
    uint32_t hash = hash_of(slug, length);
    struct entry *e = find(s, slug, length, hash);
    s->articles++;
    if (e) {
        char number[12];
        int digits = 0;
        for (uint32_t left = ++e->uses; left; left /= 10)
            number[digits++] = (char)('0' + left % 10);
        slug[length++] = '-';
        while (digits)
            slug[length++] = number[--digits];
        s->renamed++;
        return hash_of(slug, length);
    }
    e = malloc(sizeof *e + length + 1);
    *e = (struct entry){s->buckets[hash & s->mask], hash, 1};
    memcpy(e->slug, slug, length + 1);
    s->buckets[hash & s->mask] = e;
    return hash;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 2000;
    int rounds = argc > 2 ? atoi(argv[2]) : 20;
    static const char *const words[] = {
        "The", "Übung", "of", "Making", "Ärger", "bread", "at", "Home:", "a", "Café", "guide", "2024", "—",
        "What", "(nobody)", "told", "you", "about", "São", "Paulo,", "naïve", "Sorting", "&", "Release", "notes"};
    char (*titles)[LONGEST] = calloc(count, sizeof *titles);
    uint32_t state = 99;
    for (size_t i = 0; i < count; i++)
        for (int w = 0; w < 6 + (int)(i % 7); w++) {
            state = state * 1664525 + 1013904223;
            strcat(strcat(titles[i], words[(state >> 12) % 25]), " ");
        }
    struct site s = {calloc(1 << 14, sizeof(struct entry *)), (1 << 14) - 1, 0, 0};
    uint64_t sum = 0;
    for (int r = 0; r < rounds; r++)
        for (size_t i = 0; i < count; i++)
            sum = sum * 1099511628211u + publish(&s, titles[i]);
    printf("%zu articles, %zu renamed, %016llx\n", s.articles, s.renamed, (unsigned long long)sum);
    return 0;
}
