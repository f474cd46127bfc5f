// Writes the trees of a snapshot from a sorted manifest: directories, their sizes, and an id for each of them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Random {
    uint64_t state = 0x2545f4914f6cdd1dull;
    uint32_t below(uint32_t n)
    {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<uint32_t>(state >> 24) % n;
    }
};

struct ManifestEntry {
    std::string path;
    uint64_t content;
    uint32_t size;
    bool executable;
};

struct FileNode {
    std::string name;
    uint64_t content;
    uint32_t size;
    bool executable;
};

class Directory {
public:
    Directory *subdirectory(std::string_view name)
    {
        auto at = children_.find(name);
        if (at == children_.end())
            at = children_.emplace(std::string(name), std::make_unique<Directory>()).first;
        return at->second.get();
    }
    void add_file(std::string_view name, const ManifestEntry &e)
    {
        if (used_ == files_.size())
            files_.emplace_back();
        FileNode &file = files_[used_++];
        file.name.assign(name);
        file.content = e.content;
        file.size = e.size;
        file.executable = e.executable;
    }
    void clear()
    {
        used_ = 0;
        for (auto &[name, child] : children_)
            child->clear();
    }

    uint64_t total_size() const { return total_size_; }
    uint64_t seal(unsigned depth, uint64_t &directories);

private:
    std::map<std::string, std::unique_ptr<Directory>, std::less<>> children_;
    std::vector<FileNode> files_;
    size_t used_ = 0;
    uint64_t total_size_ = 0;
};

uint64_t mix(uint64_t h, uint64_t w)
{
    h = (h ^ w) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 32;
}

uint64_t mix_name(uint64_t h, std::string_view name)
{
    while (name.size() >= 8) {
        uint64_t w;
        std::memcpy(&w, name.data(), 8);
        h = mix(h, w);
        name.remove_prefix(8);
    }
    uint64_t w = 0;
    std::memcpy(&w, name.data(), name.size());
    return mix(h, w | uint64_t(name.size()) << 56);
}

uint64_t Directory::seal(unsigned depth, uint64_t &directories)
{
    uint64_t h = depth;
    total_size_ = 0;
    for (size_t i = 0; i < used_; i++) {
        const FileNode &file = files_[i];
        h = mix_name(h, file.name);
        h = mix(h, file.content + file.executable);
        total_size_ += file.size;
    }
    for (auto &[name, child] : children_) {
        h = mix_name(h, name);
        h = mix(h, child->seal(depth + 1, directories));
        total_size_ += child->total_size();
    }
    directories++;
    return h;
}

class SnapshotWriter {
public:
    void begin()
    {
        root_.clear();
        last_ = nullptr;
    }

    void add(const ManifestEntry &e)
    {
        std::string_view path = e.path;
        if (path.empty() || path.front() == '/') {
            rejected_++;
            return;
        }
        size_t slash = path.rfind('/');
        Directory *directory = slash == std::string_view::npos ? &root_ : find_directory(path.substr(0, slash));
        std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
        if (ignored(name)) {
            ignored_++;
            return;
        }
        directory->add_file(name, e);
        files_++;
    }

    uint64_t finish() { return root_.seal(0, directories_); }

    uint64_t files() const { return files_; }
    uint64_t ignored_files() const { return ignored_; }
    uint64_t directories() const { return directories_; }
    uint64_t bytes() const { return root_.total_size(); }

private:
    Directory *find_directory(std::string_view path)
    {
        if (last_ && path == last_path_)
            return last_;
        last_path_ = path;
        Directory *directory = &root_;
        while (!path.empty()) {
            size_t slash = path.find('/');
            directory = directory->subdirectory(path.substr(0, slash));
            path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
        }
        last_ = directory;
        return directory;
    }

    static bool ends_with(std::string_view name, std::string_view end)
    {
        return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
    }
    static bool ignored(std::string_view name) { return ends_with(name, ".o") || ends_with(name, "~") || name.front() == '#'; }

    Directory root_;
    Directory *last_ = nullptr;
    std::string_view last_path_; // of the manifest
    uint64_t files_ = 0, ignored_ = 0, directories_ = 0, rejected_ = 0;
};

const char *const kStems[] = {"driver", "network", "core", "include", "platform", "tests", "fixtures", "sound", "video", "tools", "scripts", "docs"};

void make_directory(std::vector<ManifestEntry> &out, Random &random, const std::string &prefix, unsigned depth)
{
    std::map<std::string, int> names;
    unsigned count = 6 + random.below(24);
    for (unsigned i = 0; i < count; i++) {
        std::string name = kStems[random.below(12)];
        name += "_" + std::to_string(random.below(500));
        bool directory = depth < 5 && random.below(5) == 0;
        if (!directory)
            name += random.below(12) == 0 ? ".o" : random.below(2) ? ".c" : ".h";
        names.emplace(name, directory);
    }
    for (auto &[name, directory] : names) {
        if (directory)
            make_directory(out, random, prefix + name + "/", depth + 1);
        else
            out.push_back({prefix + name, uint64_t(random.below(1u << 31)) << 20, 100 + random.below(20000), random.below(20) == 0});
    }
}

void change_some(std::vector<ManifestEntry> &manifest, Random &random)
{
    for (unsigned i = 0; i < 20; i++) {
        ManifestEntry &e = manifest[random.below(static_cast<uint32_t>(manifest.size()))];
        e.content += 1 + random.below(1000);
        e.size += random.below(100);
    }
}

} // namespace

int main(int argc, char **argv)
{
    int snapshots = argc > 1 ? std::atoi(argv[1]) : 100;
    Random random;
    std::vector<ManifestEntry> manifest;
    for (unsigned i = 0; i < 10; i++)
        make_directory(manifest, random, "component" + std::to_string(i) + "/", 0);
    SnapshotWriter writer;
    uint64_t digest = 0;
    for (int i = 0; i < snapshots; i++) {
        writer.begin();
        for (const ManifestEntry &e : manifest)
            writer.add(e);
        digest = mix(digest, writer.finish());
        change_some(manifest, random);
    }
    std::printf("%zu entries, %llu files, %llu ignored, %llu directories, %llu bytes, %016llx\n", manifest.size(),
                (unsigned long long)writer.files(), (unsigned long long)writer.ignored_files(),
                (unsigned long long)writer.directories(), (unsigned long long)writer.bytes(), (unsigned long long)digest);
}
