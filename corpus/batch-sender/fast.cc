// Collects records into batches for sending: each record is encoded, framed, and added to the batch.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Bytes = std::vector<uint8_t>;

struct Record {
    uint32_t id;
    Bytes body;
};

class Batch {
public:
    void add(const Record &record)
    {
        const size_t size = 4 + record.body.size();
        bytes_.push_back(0x7e);
        bytes_.push_back(uint8_t(size >> 8));
        bytes_.push_back(uint8_t(size));
        for (int at = 0; at < 4; at++)
            bytes_.push_back(uint8_t(record.id >> (8 * at)));
        bytes_.insert(bytes_.end(), record.body.begin(), record.body.end());
    }
    bool full() const { return bytes_.size() > 60000; }

    /// What is to be sent; the batch is empty then.
    uint32_t send()
    {
        uint32_t sum = uint32_t(bytes_.size());
        for (size_t at = 0; at < bytes_.size(); at += 512)
            sum = sum * 31 + bytes_[at];
        bytes_.clear();
        return sum;
    }

private:
    Bytes bytes_;
};

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
    std::vector<Record> records;
    uint32_t state = 59, sum = 0;
    for (uint32_t r = 0; r < 300; r++) {
        state = state * 1664525 + 1013904223;
        records.push_back({r, Bytes(1000 + (state >> 20), uint8_t('a' + r % 26))});
    }
    Batch batch;
    for (int r = 0; r < rounds; r++)
        for (const Record &record : records) {
            batch.add(record);
            if (batch.full())
                sum = sum * 7 + batch.send();
        }
    std::printf("%08x\n", sum + batch.send());
}
