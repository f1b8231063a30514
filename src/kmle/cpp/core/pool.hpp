// A pool of threads that wait for work and that all callers share.
//
// Every caller works on its own tasks, and threads of the pool help wherever cores are left. A forked child has the
// memory of the pool but none of its threads, and a lock of it may have been held by a thread that does not exist
// there: the child leaves the copy alone, locks included, and makes a pool of its own.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
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
    // which task is left to chance, so tasks must not share what they write. After an exception no further task is
    // begun, and the first one is thrown again here, when no thread uses `work` any more.
    static void run(std::size_t tasks, std::size_t threads, const std::function<void(std::size_t)>& work) {
        threads = std::min({threads, tasks, most_helpers + 1});
        if (threads > 1) return instance().share(tasks, threads, work);
        for (std::size_t task = 0; task < tasks; ++task) work(task);
    }

private:
    static constexpr std::size_t most_helpers = 255;

    // One call of `run`. What is not atomic is guarded by the pool's lock.
    struct Job {
        Job(const std::function<void(std::size_t)>& work, std::size_t tasks, std::size_t threads)
            : work(work), tasks(tasks), threads(threads) {}

        bool is_open() const { return next.load(std::memory_order_relaxed) < tasks; }

        // Does tasks until there are none left.
        void take() noexcept {
            try {
                for (std::size_t task = next++; task < tasks; task = next++) work(task);
            } catch (...) {
                next = tasks;
                if (!has_failed.exchange(true)) failure = std::current_exception();
            }
        }

        const std::function<void(std::size_t)>& work;
        const std::size_t tasks, threads;
        std::atomic<std::size_t> next{0};
        std::atomic<bool> has_failed{false};
        std::exception_ptr failure;           // written by one thread, read when all have stopped
        std::atomic<std::size_t> helping{0};  // changed under the pool's lock
        int caller = processor();
        std::condition_variable done;
    };

    Pool() = default;

    // Passes over few rows come one after the other, sooner than a sleeping thread wakes up: who has nothing to do
    // looks for this long whether that changes before it sleeps.
    static constexpr std::chrono::microseconds awake{40};

    // Waits for a condition for a moment; the lock is not held meanwhile.
    template <class Condition>
    static void look_out(std::unique_lock<std::mutex>& lock, const Condition& condition) {
        lock.unlock();
        for (const auto end = std::chrono::steady_clock::now() + awake; std::chrono::steady_clock::now() < end;) {
            bool found = false;
            for (int look = 0; look < 16 && !(found = condition()); ++look) relax();
            if (found) break;
        }
        lock.lock();
    }

    // Tells the processor that this thread only waits.
    static void relax() {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ __volatile__("yield");
#endif
    }

    // That of this process. No lock is taken to find or make it: a fork could copy one that is held.
    static Pool& instance() {
        static std::atomic<Pool*> current{nullptr};
        const long own = process();
        for (Pool* pool = current.load(std::memory_order_acquire);;) {
            if (pool && pool->owner_ == own) return *pool;
            Pool* fresh = new Pool;
            if (current.compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) return *fresh;
            delete fresh;
        }
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

    // Linux may wake a helper on the very processor of the thread that calls for help, and then leaves the two there,
    // by turns, for many passes. Such a helper forbids itself that processor for a moment.
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

    void share(std::size_t tasks, std::size_t threads, const std::function<void(std::size_t)>& work) {
        Job job(work, tasks, threads);
        bool met = false;
        std::size_t wanted = 0;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            join(job);
            ++calls_;
            wanted = std::min({idle_, threads - 1, room_for(job)});
            met = std::find(last_.begin(), last_.end(), job.caller) != last_.end();
        }
        for (std::size_t helper = 0; helper < wanted; ++helper) wake_.notify_one();
        if (wanted > 0 && met) std::this_thread::yield();  // so that a helper that is woken here can make way
        job.take();
        leave(job);
        if (job.failure) std::rethrow_exception(job.failure);
    }

    void join(Job& job) {
        jobs_.push_back(&job);
        try {
            start_workers();
        } catch (...) {
            jobs_.pop_back();
            throw;
        }
    }

    // No helper begins with the job any more, and those that have are waited for.
    void leave(Job& job) {
        std::unique_lock<std::mutex> lock(mutex_);
        jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
        if (!jobs_.empty() && idle_ > 0) wake_.notify_one();  // another job may have this thread's core
        const auto alone = [&] { return job.helping == 0; };
        if (!alone()) look_out(lock, alone);
        job.done.wait(lock, alone);
    }

    // How many more threads fit beside the callers and helpers at work: cores are shared, but who asks for more threads
    // than there are cores has them.
    std::size_t room_for(const Job& job) const {
        const std::size_t most = std::max(cores_, job.threads), at_work = jobs_.size() + helping_;
        return most - std::min(most, at_work);
    }

    // As many as all jobs together ask for, up to the cores. Where a thread cannot be started, others do the work.
    void start_workers() {
        std::size_t wanted = 0, most = cores_;
        for (const Job* job : jobs_) {
            wanted += job->threads - 1;
            most = std::max(most, job->threads);
        }
        wanted = std::min({wanted, most - std::min(most, jobs_.size()), most_helpers});
        last_.resize(std::max(last_.size(), wanted), -1);
        workers_.reserve(wanted);
        while (workers_.size() < wanted && start_worker()) ++idle_;
    }

    bool start_worker() {
        try {
            workers_.emplace_back([this, id = workers_.size()] { serve(id); });
            return true;
        } catch (const std::system_error&) {  // the system has no thread to give
            return false;
        }
    }

    // A job that has tasks left and fewer threads than it asks for.
    Job* job_to_help() const {
        for (Job* job : jobs_)
            if (job->is_open() && job->helping + 1 < job->threads && room_for(*job) > 0) return job;
        return nullptr;
    }

    void serve(std::size_t id) {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            Job* job = job_to_help();
            if (!job) look_out(lock, [this, before = calls_.load()] { return calls_ != before; });
            wake_.wait(lock, [&] { return (job = job_to_help()) != nullptr; });
            --idle_;
            ++helping_;
            ++job->helping;
            lock.unlock();
            make_way(job->caller);
            job->take();
            lock.lock();
            last_[id] = processor();
            ++idle_;
            --helping_;
            if (--job->helping == 0) job->done.notify_one();
        }
    }

    const long owner_ = process();
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<std::thread> workers_;  // never joined: they sleep until the process ends
    std::vector<Job*> jobs_;            // in the order of their calls
    std::vector<int> last_;             // the processors the helpers were on when they had done their work
    std::size_t helping_ = 0, idle_ = 0;
    std::atomic<std::size_t> calls_{0};  // of `share` so far
    const std::size_t cores_ = std::max<std::size_t>(1, std::thread::hardware_concurrency());
};

}  // namespace kmle
