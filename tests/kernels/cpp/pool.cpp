// What the pool of threads promises, one check for each name that is given. Compiled and run by test_pool.py.

#include "core/pool.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

using kmle::Pool;
using namespace std::chrono_literals;

namespace {

void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::_Exit(1);
}

// Whether something comes true soon.
template <class Condition>
bool soon(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!condition())
        if (std::chrono::steady_clock::now() > end)
            return false;
        else
            std::this_thread::sleep_for(100us);
    return true;
}

void use(std::size_t threads = 2) {
    std::vector<int> done(100);
    Pool::run(done.size(), threads, [&](std::size_t task) { ++done[task]; });
    for (const int times : done) expect(times == 1, "every task is done once");
}

void tasks_are_done_once() {
    for (const std::size_t threads : {0, 1, 2, 3, 7, 1000}) use(threads);
    Pool::run(0, 2, [](std::size_t) { expect(false, "there is no task"); });
}

// Each caller's tasks go on only when the other's are at work.
void two_callers_work_at_once() {
    std::atomic<bool> at_work[2] = {};
    const auto call = [&](int own) {
        Pool::run(2, 2, [&](std::size_t) {
            at_work[own] = true;
            expect(soon([&] { return at_work[1 - own].load(); }), "the other caller is at work");
        });
    };
    std::thread other(call, 1);
    call(0);
    other.join();
}

void many_callers_come_to_an_end() {
    std::vector<std::thread> callers;
    std::atomic<int> total{0};
    for (int c = 0; c < 8; ++c)
        callers.emplace_back([&] {
            for (int round = 0; round < 200; ++round) Pool::run(5, 3, [&](std::size_t) { ++total; });
        });
    for (std::thread& caller : callers) caller.join();
    expect(total == 8 * 200 * 5, "all tasks are done");
}

void calls_within_tasks() {
    std::atomic<int> total{0};
    Pool::run(8, 4, [&](std::size_t) { Pool::run(8, 4, [&](std::size_t) { ++total; }); });
    expect(total == 64, "all inner tasks are done");
}

// An exception of any task reaches the caller, when no other thread uses the work any more.
void exceptions_reach_the_caller() {
    for (std::size_t round = 0; round < 300; ++round) {
        std::atomic<int> inside{0};
        bool caught = false;
        try {
            Pool::run(20, 3, [&](std::size_t task) {
                ++inside;
                std::this_thread::sleep_for(std::chrono::microseconds(round % 40));
                --inside;
                if (task == round % 20) throw std::runtime_error("task failed");
            });
        } catch (const std::runtime_error& error) {
            caught = std::strcmp(error.what(), "task failed") == 0;
        }
        expect(caught, "the exception is that of the task");
        expect(inside == 0, "no thread is inside a task any more");
    }
    bool out_of_memory = false;
    try {
        Pool::run(4, 2, [&](std::size_t) { throw std::bad_alloc(); });
    } catch (const std::bad_alloc&) {
        out_of_memory = true;
    }
    expect(out_of_memory, "running out of memory reaches the caller");
    use();
}

bool ends_well(pid_t child) {
    int status = 0;
    const bool ended = soon([&] { return waitpid(child, &status, WNOHANG) == child; });
    if (!ended) kill(child, SIGKILL);
    return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Children forked while another thread is anywhere inside a call use the pool, and so does the parent.
void children_go_on() {
    std::atomic<bool> stop{false};
    std::thread busy([&] {
        while (!stop) Pool::run(64, 2, [](std::size_t) { std::this_thread::yield(); });
    });
    for (int fork_count = 0; fork_count < 20; ++fork_count) {
        const pid_t child = fork();
        if (child == 0) {
            use();
            std::_Exit(0);
        }
        expect(ends_well(child), "the child comes to its end");
    }
    stop = true;
    busy.join();
    use();
}

// The processors a thread may use are the same before and after it helps.
void processors_stay_allowed() {
#ifdef __linux__
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    for (int round = 0; round < 200; ++round) {
        std::this_thread::sleep_for(200us);
        Pool::run(2, 2, [&](std::size_t) {
            cpu_set_t now;
            sched_getaffinity(0, sizeof now, &now);
            expect(CPU_EQUAL(&now, &before), "a helper may use all processors");
            const auto end = std::chrono::steady_clock::now() + 100us;
            while (std::chrono::steady_clock::now() < end) continue;
        });
    }
#endif
}

const struct {
    const char* name;
    void (*check)();
} checks[] = {
    {"tasks_are_done_once", tasks_are_done_once},
    {"two_callers_work_at_once", two_callers_work_at_once},
    {"many_callers_come_to_an_end", many_callers_come_to_an_end},
    {"calls_within_tasks", calls_within_tasks},
    {"exceptions_reach_the_caller", exceptions_reach_the_caller},
    {"children_go_on", children_go_on},
    {"processors_stay_allowed", processors_stay_allowed},
};

}  // namespace

int main(int count, char** names) {
    for (const auto& check : checks)
        if (count == 1)
            std::puts(check.name);
        else if (std::string(names[1]) == check.name)
            return check.check(), 0;
    return count != 1;
}
