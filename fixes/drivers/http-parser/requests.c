/* Parses made-up requests of browsers with their cookies: requests TIMES. */
#include <http_parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long values, ended;

static int on_value(http_parser *parser, const char *at, size_t length)
{
    (void)parser, (void)at;
    values += length;
    return 0;
}

static int on_end(http_parser *parser)
{
    (void)parser;
    ended++;
    return 0;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1000;
    static char text[16][4096];
    size_t lengths[16];
    unsigned state = 1;
    for (int request = 0; request < 16; request++) {
        char *to = text[request];
        to += sprintf(to, "GET /pieces/%d/picture.jpeg HTTP/1.1\r\nHost: pictures.example.org\r\n"
            "User-Agent: Browser/5.0 (System; Machine; rv:110.0) Engine/20100101 Browser/110.0\r\n"
            "Accept: image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5\r\n"
            "Accept-Language: en-GB,en;q=0.7,de;q=0.3\r\nConnection: keep-alive\r\n"
            "Referer: https://www.example.org/catalogue/of/pieces?page=%d\r\nCookie: session=", request, request * 3);
        for (int letter = 0; letter < 300 + request * 20; letter++) {
            state = state * 1664525 + 1013904223;
            *to++ = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[state >> 26];
        }
        to += sprintf(to, "; theme=dark; seen=%u\r\nCache-Control: max-age=0\r\n\r\n", state);
        lengths[request] = to - text[request];
    }
    http_parser_settings settings;
    http_parser_settings_init(&settings);
    settings.on_header_value = on_value;
    settings.on_message_complete = on_end;
    for (int time = 0; time < times; time++) {
        http_parser parser;
        http_parser_init(&parser, HTTP_REQUEST);
        int request = time % 16;
        if (http_parser_execute(&parser, &settings, text[request], lengths[request]) != lengths[request])
            return 2;
    }
    printf("%lu %lu\n", values, ended);
    return 0;
}
