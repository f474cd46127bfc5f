// A relay: takes messages from a connection's buffer, queues them, and sends them on.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

struct Message {
    uint32_t channel;
    std::string body;
};

class Relay {
public:
    // Takes all whole messages off the input: channel and length as numbers, then the body.
    void receive(const std::string &input)
    {
        size_t at = 0;
        while (at + 8 <= input.size()) {
            uint32_t channel = number(input, at), length = number(input, at + 4);
            std::string body = input.substr(at + 8, length);
            Message message{channel, body};
            enqueue(message);
            at += 8 + length;
        }
    }

    // Puts all queued messages into the output.
    void send(std::vector<char> &output)
    {
        while (!queue_.empty()) {
            Message message = queue_.front();
            queue_.pop_front();
            output.insert(output.end(), message.body.begin(), message.body.end());
            sent_ += message.channel;
        }
    }

    uint64_t sent() const { return sent_; }

private:
    static uint32_t number(const std::string &text, size_t at)
    {
        uint32_t value = 0;
        for (size_t i = 0; i < 4; i++)
            value = value << 8 | uint8_t(text[at + i]);
        return value;
    }

    void enqueue(const Message &message) { queue_.push_back(message); }

    std::deque<Message> queue_;
    uint64_t sent_ = 0;
};

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
    std::string input;
    uint32_t state = 127;
    for (uint32_t m = 0; m < 32; m++) {
        state = state * 1664525 + 1013904223;
        uint32_t length = 3000 + (state >> 19);
        for (uint32_t value : {m % 7, length})
            for (int shift = 24; shift >= 0; shift -= 8)
                input.push_back(char(value >> shift));
        for (uint32_t i = 0; i < length; i++)
            input.push_back(char(i * m));
    }
    Relay relay;
    std::vector<char> output;
    uint64_t sum = 0;
    for (int r = 0; r < rounds; r++) {
        relay.receive(input);
        output.clear();
        relay.send(output);
        sum = sum * 31 + uint8_t(output[size_t(r) * 7919 % output.size()]);
    }
    std::printf("%016llx, %llu\n", (unsigned long long)sum, (unsigned long long)relay.sent());
}
