/* Packs the headers of so many made-up requests as HTTP/2 does, and prints how long they are: headers REQUESTS. */
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static nghttp2_nv field(const char *name, const char *value)
{
    nghttp2_nv nv = {(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
    return nv;
}

int main(int argc, char **argv)
{
    int requests = argc > 1 ? atoi(argv[1]) : 1000;
    unsigned long bytes = 0, sum = 0;
    unsigned state = 1;
    nghttp2_hd_deflater *deflater;
    if (nghttp2_hd_deflate_new(&deflater, 4096) != 0)
        return 1;
    for (int request = 0; request < requests; request++) {
        char path[128], tag[64], date[64];
        uint8_t packed[2048];
        state = state * 1664525 + 1013904223;
        snprintf(path, sizeof path, "/catalogue/of/pieces/%u/picture-%d.jpeg?width=%u&quality=high", state >> 12, request, state % 997);
        snprintf(tag, sizeof tag, "\"%08x-%08x-%08x\"", state, state * 31, state * 17);
        snprintf(date, sizeof date, "Mon, %02d Jan 2024 %02d:%02d:%02d GMT", request % 28 + 1, request % 24, request % 60, state % 60);
        nghttp2_nv fields[] = {
            field(":method", "GET"), field(":scheme", "https"), field(":authority", "pictures.example.org"),
            field(":path", path), field("user-agent", "Browser/5.0 (System; rv:110.0)"),
            field("accept", "image/avif,image/webp,*/*"), field("accept-encoding", "gzip, deflate, br"),
            field("if-none-match", tag), field("if-modified-since", date),
        };
        ssize_t length = nghttp2_hd_deflate_hd(deflater, packed, sizeof packed, fields, sizeof fields / sizeof *fields);
        if (length < 0)
            return 2;
        bytes += length;
        for (ssize_t at = 0; at < length; at += 8)
            sum += packed[at];
    }
    nghttp2_hd_deflate_del(deflater);
    printf("%lu %lu\n", bytes, sum);
    return 0;
}
