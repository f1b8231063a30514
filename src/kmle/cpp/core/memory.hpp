// Memory aligned for the widest vectors, in large pages where there is much of it.

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

namespace kmle {

// Room for `count` objects of `size` bytes, not initialised. Compiled once, in memory.cpp, for all instruction sets.
void* allocate(std::size_t count, std::size_t size);
void release(void* data) noexcept;

template <class T>
struct AlignedDelete {
    void operator()(T* data) const { release(data); }
};

template <class T>
using Aligned = std::unique_ptr<T[], AlignedDelete<T>>;

// Not initialised. Static, so that no instruction set has that of another.
template <class T>
static Aligned<T> aligned(std::size_t size) {
    return Aligned<T>(static_cast<T*>(allocate(size, sizeof(T))));
}

template <class T>
static Aligned<T> zeros(std::size_t size) {
    Aligned<T> data = aligned<T>(size);
    std::fill_n(data.get(), size, T());
    return data;
}

}  // namespace kmle
