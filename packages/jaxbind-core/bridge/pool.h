// SPDX-License-Identifier: BSD-2-Clause
// Threads that help the thread of a call with its batch loop. No Python here.
#pragma once

#include <cstdint>
#include <functional>

namespace jaxbind {

// Runs `work` on this thread and, while it lasts, on up to `helpers` (at least one) threads of the pool; returns when
// all have ended.
//
// The calling thread never waits for a free helper: with every helper taken it does the whole work alone. So calls
// cannot block each other, however many are in flight and whatever `work` calls. All calls share the pool, which holds
// as many threads as the largest number of helpers that was asked for. `work` must not throw; the GIL must not be held.
void run_with_helpers(int64_t helpers, const std::function<void()>& work);

}  // namespace jaxbind
