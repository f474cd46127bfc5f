// Unpacks the members of an archive in memory, checks each, and counts the lines of those that are text.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using Bytes = std::vector<uint8_t>;

struct Header {
    char name[24];
    uint32_t size, kind, check, reserved;
};

static uint32_t sampled_check(const uint8_t *data, size_t size)
{
    uint32_t sum = uint32_t(size);
    for (size_t i = 0; i < size; i += 256) sum = sum * 31 + data[i];
    return sum;
}

class Reader {
public:
    explicit Reader(const Bytes &image) : image(image) {}

    bool header(Header &to)
    {
        if (image.size() - at < sizeof to) return false;
        std::memcpy(&to, image.data() + at, sizeof to);
        at += sizeof to;
        return true;
    }

    Bytes content(size_t size)
    {
        if (image.size() - at < size) throw std::runtime_error("member is cut off");
        Bytes data(size);
        std::memcpy(data.data(), image.data() + at, size);
        at += size;
        return data;
    }

private:
    const Bytes &image;
    size_t at = 0;
};

struct Member {
    uint32_t kind = 0;
    Bytes data;
};

class Shelf {
public:
    void add(std::string_view name, uint32_t kind, Bytes data)
    {
        Member &member = members[std::string(name)];
        member.kind = kind;
        member.data = std::move(data);
    }

    uint64_t lines() const
    {
        uint64_t count = 0;
        for (const auto &[name, member] : members) {
            if (member.kind != 1) continue;
            const uint8_t *p = member.data.data(), *end = p + member.data.size();
            while ((p = static_cast<const uint8_t *>(std::memchr(p, '\n', size_t(end - p))))) {
                count++;
                p++;
            }
        }
        return count;
    }

private:
    std::map<std::string, Member> members;
};

static uint64_t unpack(const Bytes &image)
{
    Reader reader(image);
    Shelf shelf;
    Header header;
    uint64_t sum = 0;
    while (reader.header(header)) {
        Bytes data = reader.content(header.size);
        uint32_t check = sampled_check(data.data(), data.size());
        if (check != header.check) throw std::runtime_error("member is damaged");
        sum = sum * 31 + check;
        shelf.add(header.name, header.kind, std::move(data));
    }
    return sum + shelf.lines();
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], nullptr, 10) : 20;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    Bytes image;
    uint32_t state = 41;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        Bytes data(24000 + (state >> 8) % 40000);
        uint32_t kind = i % 4 == 0;
        for (auto &byte : data) {
            state = state * 1664525 + 1013904223;
            byte = uint8_t(kind ? 32 + (state >> 20) % 95 : state >> 24);
            if (kind && (state >> 10) % 200 == 0) byte = '\n';
        }
        Header header{};
        snprintf(header.name, sizeof header.name, "member-%03zu", i % 40);
        header.size = uint32_t(data.size());
        header.kind = kind;
        header.check = sampled_check(data.data(), data.size());
        const auto *raw = reinterpret_cast<const uint8_t *>(&header);
        image.insert(image.end(), raw, raw + sizeof header);
        image.insert(image.end(), data.begin(), data.end());
    }
    uint64_t sum = 0;
    for (int p = 0; p < passes; p++) sum = sum * 7 + unpack(image);
    printf("%016llx\n", (unsigned long long)sum);
}
