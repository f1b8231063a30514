// Memory aligned for the widest vectors, in large pages where there is much of it.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace kmle {

template <class T>
struct AlignedDelete {
    void operator()(T* data) const { ::operator delete(data, std::align_val_t(64)); }
};

// Not initialised.
template <class T>
std::unique_ptr<T[], AlignedDelete<T>> aligned(std::size_t size) {
    const std::size_t bytes = std::max<std::size_t>(size, 1) * sizeof(T);
    T* data = static_cast<T*>(::operator new(bytes, std::align_val_t(64)));
#ifdef __linux__
    // Fetching small pages takes longer than filling them.
    constexpr std::uintptr_t page = 1 << 21;
    const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
    const std::uintptr_t last = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
    return std::unique_ptr<T[], AlignedDelete<T>>(data);
}

}  // namespace kmle
