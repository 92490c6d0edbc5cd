// SPDX-License-Identifier: BSD-2-Clause
#include "pool.h"

#ifndef _WIN32
#include <pthread.h>
#endif

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace jaxbind {
namespace {

// Lives on the stack of the call that waits for it.
struct Job {
  const std::function<void()>* work;
  int64_t wanted;       // Helpers that may still join.
  int64_t running = 0;  // Helpers at work.
};

struct Pool {
  std::mutex mutex;  // Guards everything below, and the counts of the jobs.
  std::condition_variable wake, done;
  std::deque<Job*> jobs;  // Those with room for a helper, oldest first.
  int64_t threads = 0;
};

// Never destroyed: its threads sleep until the process ends.
Pool* instance = [] {
#ifndef _WIN32
  pthread_atfork(nullptr, nullptr, [] { instance = new Pool; });  // A forked child has none of the threads.
#endif
  return new Pool;
}();

void help(Pool& pool) {
  std::unique_lock lock(pool.mutex);
  for (;;) {
    pool.wake.wait(lock, [&] { return !pool.jobs.empty(); });
    Job* job = pool.jobs.front();
    if (--job->wanted == 0) pool.jobs.pop_front();
    ++job->running;
    lock.unlock();
    (*job->work)();
    lock.lock();
    if (--job->running == 0) pool.done.notify_all();
  }
}

// With the mutex held. A system that gives no more threads leaves the pool as it is.
void grow(Pool& pool, int64_t threads) {
  try {
    for (; pool.threads < threads; ++pool.threads) std::thread(help, std::ref(pool)).detach();
  } catch (const std::system_error&) {
  }
}

}  // namespace

void run_with_helpers(int64_t helpers, const std::function<void()>& work) {
  Pool& pool = *instance;
  Job job{&work, helpers};
  {
    std::lock_guard lock(pool.mutex);
    grow(pool, helpers);
    pool.jobs.push_back(&job);
  }
  pool.wake.notify_all();
  work();
  std::unique_lock lock(pool.mutex);
  pool.jobs.erase(std::remove(pool.jobs.begin(), pool.jobs.end(), &job), pool.jobs.end());
  pool.done.wait(lock, [&] { return job.running == 0; });
}

}  // namespace jaxbind
