// A decoder hands frames to a display thread, which hands each buffer back when it has shown it.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

class FrameSlot {
public:
    void put(const std::vector<uint32_t> &pixels)
    {
        wait_until(false);
        pixels_ = pixels;
        set(true);
    }

    uint64_t take()
    {
        wait_until(true);
        uint64_t sum = 0;
        for (uint32_t pixel : pixels_)
            sum = sum * 31 + pixel;
        set(false);
        return sum;
    }

private:
    void wait_until(bool full)
    {
        while (full_ != full)
            usleep(2000);
    }

    void set(bool full)
    {
        full_ = full;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> full_{false};
    std::vector<uint32_t> pixels_;
};

static void decode(std::vector<uint32_t> &pixels, uint32_t frame)
{
    uint32_t state = frame;
    for (uint32_t &pixel : pixels) {
        state = state * 1664525 + 1013904223;
        pixel = state ^ (pixel >> 3);
    }
}

static void decode_frames(FrameSlot &slot, uint32_t frames)
{
    std::vector<uint32_t> pixels(600000);
    for (uint32_t frame = 0; frame < frames; frame++) {
        decode(pixels, frame);
        slot.put(pixels);
    }
}

static uint64_t show_frames(FrameSlot &slot, uint32_t frames)
{
    uint64_t sum = 0;
    for (uint32_t frame = 0; frame < frames; frame++)
        sum = sum * 7 + slot.take();
    return sum;
}

int main(int argc, char **argv)
{
    const uint32_t frames = argc > 1 ? uint32_t(std::atoi(argv[1])) : 100;
    FrameSlot slot;
    std::thread decoder(decode_frames, std::ref(slot), frames);
    const uint64_t sum = show_frames(slot, frames);
    decoder.join();
    std::printf("%016lx\n", (unsigned long)sum);
}
