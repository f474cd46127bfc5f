/* Follows a position through the sentences of a satellite receiver. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fix {
    char talker[2];
    uint32_t seconds;
    double latitude, longitude, altitude, dilution;
    unsigned quality, satellites;
};

struct track {
    char talker[2];
    double latitude, longitude, climbed, travelled;
    uint32_t last, fixes, broken;
};

static int checksum_holds(const char *line, size_t length)
{
    unsigned sum = 0;
    for (size_t i = 1; i + 3 < length; i++)
        sum ^= (unsigned char)line[i];
    static const char digits[] = "0123456789ABCDEF";
    return line[length - 2] == digits[sum >> 4 & 15] && line[length - 1] == digits[sum & 15];
}

static const char *next_field(const char *at)
{
    while (*at != ',' && *at != '*')
        at++;
    return at + (*at == ',');
}

static double decimal(const char *at)
{
    double value = 0, scale = 1;
    for (; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (*at - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++)
            value += (*at - '0') * (scale /= 10);
    return value;
}

static double degrees(const char *at, char negative)
{
    double packed = decimal(at);
    double whole = (double)(int)(packed / 100);
    double value = whole + (packed - whole * 100) / 60;
    return *next_field(at) == negative ? -value : value;
}

static void parse_fix(const char *line, struct fix *fix)
{
    memcpy(fix->talker, line + 1, 2);
    const char *at = next_field(line);
    uint32_t packed = (uint32_t)decimal(at);
    fix->seconds = packed / 10000 * 3600 + packed / 100 % 100 * 60 + packed % 100;
    at = next_field(at);
    fix->latitude = degrees(at, 'S');
    at = next_field(next_field(at));
    fix->longitude = degrees(at, 'W');
    at = next_field(next_field(at));
    fix->quality = (unsigned)decimal(at);
    at = next_field(at);
    fix->satellites = (unsigned)decimal(at);
    at = next_field(at);
    fix->dilution = decimal(at);
    fix->altitude = decimal(next_field(at));
}

static void advance(struct track *track, const struct fix *fix)
{
    double north = fix->latitude - track->latitude, east = fix->longitude - track->longitude;
    if (track->fixes++)
        track->travelled += north * north + east * east;
    track->latitude = fix->latitude;
    track->longitude = fix->longitude;
    track->climbed += fix->altitude / (fix->dilution + fix->satellites);
    track->last = fix->seconds;
}

static void follow(struct track *track, const char *text, const char *end)
{
    struct fix fix;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!checksum_holds(text, (size_t)(stop - text))) {
            track->broken++;
        } else {
            if (memcmp(text + 1, track->talker, 2) == 0) {
                parse_fix(text, &fix);
                if (fix.quality)
                    advance(track, &fix);
            }
        }
        text = stop + 1;
    }
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    static const char *talkers[] = {"GP", "GL", "GA", "GB", "GQ"};
    char *text = malloc(count * 96), *to = text;
    uint32_t state = 17;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        int n = sprintf(to, "$%sGGA,%02u%02u%02u.00,%02u%07.4f,%c,%03u%07.4f,%c,%u,%02u,%.1f,%.1f,M,47.0,M,,",
                        talkers[(state >> 13) % 5], (unsigned)(i / 3600 % 24), (unsigned)(i / 60 % 60), (unsigned)(i % 60),
                        47 + (state >> 30), (state >> 8) % 600000 / 10000.0, state >> 31 ? 'N' : 'S', 8 + (state >> 29),
                        (state >> 5) % 600000 / 10000.0, 'E', state % 31 != 0, 4 + (state >> 20) % 9, (state >> 16) % 40 / 10.0,
                        (state >> 11) % 9000 / 10.0);
        unsigned sum = 0;
        for (int k = 1; k < n; k++)
            sum ^= (unsigned char)to[k];
        to += n + sprintf(to + n, "*%02X\n", state % 101 ? sum : sum ^ 1);
    }
    double total = 0;
    uint32_t fixes = 0;
    for (int p = 0; p < passes; p++) {
        struct track track = {.talker = {'G', "PLA"[p % 3]}};
        follow(&track, text, to);
        total += track.travelled + track.climbed;
        fixes += track.fixes * 3 + track.broken;
    }
    printf("%.6f %u\n", total, fixes);
    free(text);
    return 0;
}
