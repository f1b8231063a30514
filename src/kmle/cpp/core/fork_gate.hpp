// Work on memory that a forked child may go on using: a fork waits until no such work is under way.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <new>

#ifndef _WIN32
#include <pthread.h>
#endif

namespace kmle {

// Held while the work is done, which must not be long and must not need Python: who forks waits with Python's lock.
class ForkGate {
public:
    ForkGate() {
        const std::lock_guard<std::mutex> lock(state().mutex);
        ++state().inside;
    }
    ~ForkGate() {
        const std::lock_guard<std::mutex> lock(state().mutex);
        if (--state().inside == 0) state().empty.notify_all();
    }
    ForkGate(const ForkGate&) = delete;
    ForkGate& operator=(const ForkGate&) = delete;

    // To be called once, at import.
    static void install() {
#ifndef _WIN32
        pthread_atfork(before_fork, in_parent, in_child);
#endif
    }

private:
    struct State {
        std::mutex mutex;
        std::condition_variable empty;
        std::size_t inside = 0;
    };

    static State& state() {
        static State* const only = new State;  // never destroyed: threads may outlive the module
        return *only;
    }

    static void before_fork() {
        std::unique_lock<std::mutex> lock(state().mutex);
        state().empty.wait(lock, [] { return state().inside == 0; });
        lock.release();  // and stays locked until the fork is made
    }
    static void in_parent() { state().mutex.unlock(); }
    // Other threads may have waited for the lock, but they do not exist here: it is made anew.
    static void in_child() { new (&state()) State; }
};

}  // namespace kmle
