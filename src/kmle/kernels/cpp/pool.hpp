// A pool of threads that wait for work; safe to use in a forked child, which starts its own.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#ifdef _WIN32
#include <process.h>
#else
#include <unistd.h>
#endif

namespace kmle {

class Pool {
public:
    // Calls work(0) ... work(tasks - 1), on at most `threads` threads, the calling one included. Which thread does
    // which task is left to chance, so tasks must not share what they write.
    static void run(std::size_t tasks, std::size_t threads, const std::function<void(std::size_t)>& work) {
        threads = std::min(threads, tasks);
        if (threads <= 1) {
            for (std::size_t task = 0; task < tasks; ++task) work(task);
            return;
        }
        static std::mutex one_at_a_time;
        const std::lock_guard<std::mutex> turn(one_at_a_time);
        instance().share(tasks, threads - 1, work);
    }

private:
    // A fork copies the pool but not its threads: the child leaves the copy alone and makes another.
    static Pool& instance() {
        static Pool* pool = nullptr;
        static long owner = -1;
        if (owner != process()) {
            pool = new Pool;
            owner = process();
        }
        return *pool;
    }

    static long process() {
#ifdef _WIN32
        return _getpid();
#else
        return getpid();
#endif
    }

    void share(std::size_t tasks, std::size_t helpers, const std::function<void(std::size_t)>& work) {
        while (workers_.size() < helpers) workers_.emplace_back([this, id = workers_.size()] { serve(id); });
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            work_ = &work;
            tasks_ = tasks;
            next_ = 0;
            helpers_ = helpers;
            busy_ = helpers;
            ++round_;
        }
        wake_.notify_all();
        take(work, tasks);
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [this] { return busy_ == 0; });
    }

    void take(const std::function<void(std::size_t)>& work, std::size_t tasks) {
        for (std::size_t task = next_++; task < tasks; task = next_++) work(task);
    }

    void serve(std::size_t id) {
        unsigned long seen = 0;
        for (;;) {
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return round_ != seen; });
            seen = round_;
            if (id >= helpers_) continue;
            const std::function<void(std::size_t)>* work = work_;
            const std::size_t tasks = tasks_;
            lock.unlock();
            take(*work, tasks);
            lock.lock();
            if (--busy_ == 0) done_.notify_one();
        }
    }

    std::vector<std::thread> workers_;  // never joined: they sleep until the process ends
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(std::size_t)>* work_ = nullptr;
    std::atomic<std::size_t> next_{0};
    std::size_t tasks_ = 0, helpers_ = 0, busy_ = 0;
    unsigned long round_ = 0;
};

}  // namespace kmle
