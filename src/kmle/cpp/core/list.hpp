// Containers of the passes, on the allocator of memory.hpp. Their code has the instruction set in its name: that of
// std::vector<float> would be shared by all instruction sets.

#pragma once

#include <algorithm>
#include <vector>

#include "core/memory.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

template <class T>
struct Allocator {
    using value_type = T;

    Allocator() = default;
    template <class Other>
    Allocator(const Allocator<Other>&) {}

    T* allocate(std::size_t count) { return static_cast<T*>(kmle::allocate(count, sizeof(T))); }
    void deallocate(T* data, std::size_t) { release(data); }

    bool operator==(const Allocator&) const { return true; }
    bool operator!=(const Allocator&) const { return false; }
};

template <class T>
using List = std::vector<T, Allocator<T>>;

// A fixed number of values, zero at first.
template <class T>
class Buffer {
public:
    explicit Buffer(std::size_t size) : data_(static_cast<T*>(kmle::allocate(size, sizeof(T)))) {
        std::fill_n(data_, size, T());
    }
    ~Buffer() { release(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    T* get() { return data_; }
    const T* get() const { return data_; }

private:
    T* data_;
};

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
