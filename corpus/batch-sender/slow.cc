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

static Bytes encode(const Record &record)
{
    Bytes out(4 + record.body.size());
    for (int at = 0; at < 4; at++)
        out[size_t(at)] = uint8_t(record.id >> (8 * at));
    std::copy(record.body.begin(), record.body.end(), out.begin() + 4);
    return out;
}

static Bytes frame(const Bytes &payload)
{
    Bytes out;
    out.reserve(payload.size() + 3);
    out.push_back(0x7e);
    out.push_back(uint8_t(payload.size() >> 8));
    out.push_back(uint8_t(payload.size()));
    out.insert(out.end(), payload.begin(), payload.end());
    return out;
}

class Batch {
public:
    void add(Bytes framed) { bytes_.insert(bytes_.end(), framed.begin(), framed.end()); }
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
            const Bytes encoded = encode(record);
            const Bytes framed = frame(encoded);
            batch.add(framed);
            if (batch.full())
                sum = sum * 7 + batch.send();
        }
    std::printf("%08x\n", sum + batch.send());
}
