// See memory.hpp.

#include "core/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace kmle {
namespace {

constexpr std::align_val_t alignment{64};

}  // namespace

void* allocate(std::size_t count, std::size_t size) {
    if (count > std::numeric_limits<std::ptrdiff_t>::max() / size) throw std::bad_alloc();
    const std::size_t bytes = std::max<std::size_t>(count, 1) * size;
    void* data = ::operator new(bytes, alignment);
#ifdef __linux__
    // Fetching small pages takes longer than filling them.
    constexpr std::uintptr_t page = 1 << 21;
    const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
    const std::uintptr_t last = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
    return data;
}

void release(void* data) noexcept { ::operator delete(data, alignment); }

}  // namespace kmle
