// Reads a binary folder listing, as objects or as an index of offsets into its bytes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

static unsigned long allocations, bytes;

__attribute__((noinline)) void *operator new(std::size_t size) {
    allocations++;
    bytes += size;
    if (void *memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void *memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

// An entry: eleven texts, each with its length in a byte.
constexpr int FIELDS = 11;

static std::vector<std::uint8_t> listing(long entries) {
    std::vector<std::uint8_t> data;
    for (long n = 0; n < entries; n++) {
        for (int field = 0; field < FIELDS; field++) {
            const std::string text = "field-" + std::to_string(field) + "-of-entry-" + std::to_string(n);
            data.push_back((std::uint8_t)text.size());
            data.insert(data.end(), text.begin(), text.end());
        }
    }
    return data;
}

static unsigned long objects(const std::vector<std::uint8_t> &data, long looks) {
    struct Entry { std::string fields[FIELDS]; };
    std::vector<Entry> entries;
    for (std::size_t at = 0; at < data.size();) {
        Entry &entry = entries.emplace_back();
        for (auto &field : entry.fields) {
            field.assign((const char *)&data[at + 1], data[at]);
            at += data[at] + 1u;
        }
    }
    unsigned long sum = 0;
    for (long look = 0; look < looks; look++)
        for (const auto &entry : entries) sum += (unsigned char)entry.fields[look % FIELDS].back();
    return sum;
}

static unsigned long index(const std::vector<std::uint8_t> &data, long looks) {
    std::vector<std::uint32_t> offsets;
    for (std::size_t at = 0; at < data.size();) {
        offsets.push_back((std::uint32_t)at);
        for (int field = 0; field < FIELDS; field++) at += data[at] + 1u;
    }
    unsigned long sum = 0;
    for (long look = 0; look < looks; look++)
        for (std::uint32_t at : offsets) {
            for (int field = 0; field < look % FIELDS; field++) at += data[at] + 1u;
            sum += data[at + data[at]];
        }
    return sum;
}

int main(int count, char **arguments) {
    if (count != 4) return 64;
    const std::vector<std::uint8_t> data = listing(std::atol(arguments[2]));
    const long looks = std::atol(arguments[3]);
    allocations = bytes = 0;
    unsigned long sum = 0;
    if (!std::strcmp(arguments[1], "objects")) sum = objects(data, looks);
    else if (!std::strcmp(arguments[1], "index")) sum = index(data, looks);
    else return 64;
    std::printf("allocations %lu\nallocated-bytes %lu\nsum %lu\n", allocations, bytes, sum);
}
