// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace kvplane::bench {

/// Instructions that this process executes in user mode; nothing where they cannot be counted.
class Instructions {
public:
    Instructions() {
        perf_event_attr what{};
        what.type = PERF_TYPE_HARDWARE;
        what.size = sizeof(what);
        what.config = PERF_COUNT_HW_INSTRUCTIONS;
        what.exclude_kernel = 1;
        what.exclude_hv = 1;
        m_file = static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
    }
    Instructions(const Instructions&) = delete;
    Instructions& operator=(const Instructions&) = delete;
    ~Instructions() {
        if (m_file >= 0) close(m_file);
    }
    [[nodiscard]] std::uint64_t count() const {
        std::uint64_t value = 0;
        if (m_file < 0 || read(m_file, &value, sizeof(value)) != sizeof(value)) return 0;
        return value;
    }

private:
    int m_file = -1;
};

}  // namespace kvplane::bench
