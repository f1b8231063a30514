// A pool of threads that wait for work; safe to use in a forked child, which starts its own.

#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

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

    // The processor this thread runs on, where that can be told.
    static int processor() {
#ifdef __linux__
        return sched_getcpu();
#else
        return -1;
#endif
    }

    // Linux may wake a helper on the very processor of the thread that calls for help, and then leaves the two there, by
    // turns, for many passes. Such a helper forbids itself that processor for a moment.
    static void make_way([[maybe_unused]] int caller) {
#ifdef __linux__
        cpu_set_t allowed;
        if (caller < 0 || caller >= CPU_SETSIZE || processor() != caller) return;
        if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
        cpu_set_t others = allowed;
        CPU_CLR(caller, &others);
        if (sched_setaffinity(0, sizeof others, &others) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
#endif
    }

    void share(std::size_t tasks, std::size_t helpers, const std::function<void(std::size_t)>& work) {
        while (workers_.size() < helpers) workers_.emplace_back([this, id = workers_.size()] { serve(id); });
        bool met = false;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            work_ = &work;
            tasks_ = tasks;
            next_ = 0;
            helpers_ = helpers;
            busy_ = helpers;
            caller_ = processor();
            last_.resize(workers_.size(), -1);
            met = std::find(last_.begin(), last_.end(), caller_) != last_.end();
            ++round_;
        }
        wake_.notify_all();
        if (met) std::this_thread::yield();  // so that the helper that is likely to be woken here can make way
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
            const int caller = caller_;
            lock.unlock();
            make_way(caller);
            take(*work, tasks);
            lock.lock();
            last_[id] = processor();
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
    int caller_ = -1;        // the processor of the thread that calls for help
    std::vector<int> last_;  // those the helpers were on when they had done their work
};

}  // namespace kmle
