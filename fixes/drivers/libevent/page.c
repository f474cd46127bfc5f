/* Answers so many requests with a page of so many rows, put together in a buffer: page ROWS TIMES. */
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rows = argc > 1 ? atoi(argv[1]) : 1000, times = argc > 2 ? atoi(argv[2]) : 1;
    unsigned long bytes = 0, sum = 0;
    while (times-- > 0) {
        struct evbuffer *page = evbuffer_new();
        char block[4096], number[24];
        int length;
        for (int row = 0; row < rows; row++) {
            evbuffer_add(page, "<tr><td>", 8);
            snprintf(number, sizeof number, "%d", row * 7919);
            evbuffer_add(page, number, strlen(number));
            evbuffer_add(page, "</td><td>the name of a piece</td></tr>\n", 39);
        }
        bytes += evbuffer_get_length(page);
        while ((length = evbuffer_remove(page, block, sizeof block)) > 0)
            for (int at = 0; at < length; at += 64)
                sum += (unsigned char)block[at];
        evbuffer_free(page);
    }
    printf("%lu %lu\n", bytes, sum);
    return 0;
}
