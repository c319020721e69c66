// Joins pairs of strings as key=value&key=value, in three ways, and counts what it allocates.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <sstream>
#include <string>

static unsigned long allocations, bytes;

__attribute__((noinline)) void *operator new(std::size_t size) {
    allocations++;
    bytes += size;
    if (void *memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void *memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

using Options = std::map<std::string, std::string>;

// A temporary string for each pair, appended to the result: what a transforming join does.
static std::string temporaries(const Options &options) {
    std::string all;
    for (auto i = options.begin(); i != options.end(); ++i) {
        if (i != options.begin()) all += "&";
        all += i->second.empty() ? i->first : i->first + std::string("=") + i->second;
    }
    return all;
}

static std::string stream(const Options &options) {
    std::ostringstream all;
    for (auto i = options.begin(); i != options.end(); ++i)
        all << (i == options.begin() ? "" : "&") << i->first << (i->second.empty() ? "" : "=")
            << i->second;
    return all.str();
}

static std::string reserve(const Options &options) {
    std::size_t size = 0;
    for (const auto &pair : options) size += pair.first.size() + pair.second.size() + 2;
    std::string all;
    all.reserve(size);
    for (const auto &pair : options) {
        if (!all.empty()) all += '&';
        all += pair.first;
        if (!pair.second.empty()) (all += '=') += pair.second;
    }
    return all;
}

int main(int count, char **arguments) {
    if (count != 5) return 64;
    const std::string way = arguments[1];
    const long pairs = std::atol(arguments[2]), length = std::atol(arguments[3]);
    const long times = std::atol(arguments[4]) / pairs + 1;
    auto *join = way == "temporaries" ? temporaries : way == "stream" ? stream : way == "reserve" ? reserve : nullptr;
    if (!join) return 64;
    Options options;
    for (long n = 0; n < pairs; n++) {
        std::string key = std::to_string(n);
        key.insert(0, length > (long)key.size() ? length - key.size() : 0, 'k');
        options[key] = std::string(length, 'v');
    }
    unsigned long sum = 0;
    allocations = bytes = 0;
    std::string first = join(options);
    const unsigned long one = allocations, size = bytes;
    for (long n = 0; n < times; n++) sum += join(options).size();
    for (char c : first) sum = sum * 31 + (unsigned char)c;
    std::printf("allocations %lu\nallocated-bytes %lu\nresult %lu\n", one, size, sum);
}
