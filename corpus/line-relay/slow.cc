// A child samples sensors and prints a line for each sample; its parent parses them from a pipe.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

static void write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(fd, bytes, size);
        if (written <= 0)
            _exit(1);
        bytes += written;
        size -= size_t(written);
    }
}

class LineWriter {
public:
    explicit LineWriter(int fd) : fd_(fd) {}
    ~LineWriter() { flush(); }
    void line(uint32_t sensor, uint32_t value)
    {
        char text[64];
        const int size = std::snprintf(text, sizeof text, "sensor%u=%u\n", sensor, value);
        unwritten_.append(text, size_t(size));
        flush();
    }

private:
    void flush()
    {
        write_all(fd_, unwritten_.data(), unwritten_.size());
        unwritten_.clear();
    }
    int fd_;
    std::string unwritten_;
};

static uint32_t filtered(uint32_t raw)
{
    for (int tap = 0; tap < 60; tap++)
        raw = raw * 5 / 6 + (raw >> 7) + uint32_t(tap);
    return raw;
}

static void sample_sensors(int out, uint32_t samples)
{
    LineWriter writer(out);
    uint32_t state = 21;
    for (uint32_t s = 0; s < samples; s++) {
        state = state * 1664525 + 1013904223;
        writer.line(state >> 28, filtered(state));
    }
}

static uint64_t parse(const char *bytes, size_t size, uint64_t sum)
{
    for (size_t at = 0; at < size; at++)
        sum = sum * 31 + uint8_t(bytes[at]);
    return sum;
}

static uint64_t follow(int in)
{
    static char bytes[1 << 16];
    uint64_t sum = 0;
    ssize_t size;
    while ((size = read(in, bytes, sizeof bytes)) > 0)
        sum = parse(bytes, size_t(size), sum);
    return sum;
}

int main(int argc, char **argv)
{
    const uint32_t samples = argc > 1 ? uint32_t(std::atoi(argv[1])) : 10000;
    int ends[2];
    if (pipe(ends) != 0) {
        std::perror("pipe");
        return 1;
    }
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        sample_sensors(ends[1], samples);
        _exit(0);
    }
    close(ends[1]);
    const uint64_t sum = follow(ends[0]);
    waitpid(child, nullptr, 0);
    std::printf("%016lx\n", (unsigned long)sum);
}
