// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <tlm_core/tlm_2/tlm_quantum/tlm_quantum.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

namespace kvplane::test {

/// Fixture that gives each test a fresh SystemC kernel and fails it on any SystemC warning.
///
/// Modules are members of the derived fixture or locals of the test, so that they are gone
/// before the base destructor replaces the kernel they were built in.
class SystemCTest : public testing::Test {
public:
    SystemCTest(const SystemCTest&) = delete;
    SystemCTest& operator=(const SystemCTest&) = delete;

    /// A new kernel, for a test that simulates more than once. All modules must be gone.
    static void fresh_kernel() {
        // The old context is left as it is: a kernel stopped by an exception cannot be taken
        // apart safely, and a test process is short. It stays reachable, so that it is no leak.
        static auto& left = *new std::vector<sc_core::sc_simcontext*>();
        left.push_back(sc_core::sc_curr_simcontext);
        sc_core::sc_curr_simcontext = new sc_core::sc_simcontext();
        sc_core::sc_default_global_context = sc_core::sc_curr_simcontext;
    }

    ~SystemCTest() override {
        sc_core::sc_report_handler::set_handler(nullptr);
        s_current = nullptr;
        fresh_kernel();
    }

protected:
    SystemCTest() {
        tlm::tlm_global_quantum::instance().set(sc_core::SC_ZERO_TIME);
        reset_report_handler();
        s_current = this;
        sc_core::sc_report_handler::set_handler(&SystemCTest::handle_report);
    }

    /// Accepts warnings of this message type from here on; they are counted instead.
    void allow_warning(std::string message_type) {
        m_allowed.push_back({std::move(message_type), 0});
    }

    /// Number of warnings seen of a message type named in allow_warning().
    [[nodiscard]] int allowed_warnings(const std::string& message_type) const {
        for (const Allowed& allowed : m_allowed) {
            if (allowed.message_type == message_type) {
                return allowed.count;
            }
        }
        return 0;
    }

private:
    struct Allowed {
        std::string message_type;
        int count;
    };

    static void reset_report_handler() {
        using Handler = sc_core::sc_report_handler;
        Handler::initialize();
        Handler::clear_cached_report();
        Handler::suppress();
        Handler::force();
        Handler::set_verbosity_level(sc_core::SC_MEDIUM);
        Handler::set_catch_actions(sc_core::SC_DEFAULT_CATCH_ACTIONS);
        Handler::set_actions(sc_core::SC_INFO, sc_core::SC_DEFAULT_INFO_ACTIONS);
        Handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DEFAULT_WARNING_ACTIONS);
        Handler::set_actions(sc_core::SC_ERROR, sc_core::SC_DEFAULT_ERROR_ACTIONS);
        Handler::set_actions(sc_core::SC_FATAL, sc_core::SC_DEFAULT_FATAL_ACTIONS);
        for (const auto severity :
             {sc_core::SC_INFO, sc_core::SC_WARNING, sc_core::SC_ERROR, sc_core::SC_FATAL}) {
            Handler::stop_after(severity, -1);
        }
    }

    static void handle_report(const sc_core::sc_report& report,
                              const sc_core::sc_actions& actions) {
        if (report.get_severity() == sc_core::SC_FATAL) {
            // The default handler prints to stdout, which EXPECT_DEATH does not see.
            std::cerr << sc_core::sc_report_compose_message(report) << std::endl;
            std::abort();
        }
        if (report.get_severity() == sc_core::SC_WARNING && s_current != nullptr) {
            s_current->on_warning(report);
            return;
        }
        sc_core::sc_report_handler::default_handler(report, actions);
    }

    void on_warning(const sc_core::sc_report& report) {
        for (Allowed& allowed : m_allowed) {
            if (allowed.message_type == report.get_msg_type()) {
                ++allowed.count;
                return;
            }
        }
        ADD_FAILURE_AT(report.get_file_name(), report.get_line_number())
            << "SystemC warning: " << sc_core::sc_report_compose_message(report);
    }

    // The report handler is a plain function: this is its way to the running test.
    static inline SystemCTest* s_current = nullptr;

    std::vector<Allowed> m_allowed;
};

}  // namespace kvplane::test
