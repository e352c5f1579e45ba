// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "explore/config.h"
#include "model/common/errors.h"

namespace kvplane::explore {

/// A folder of its own for each test, with the config files that the test writes.
class ConfigFiles : public testing::Test {
protected:
    ConfigFiles() {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        m_folder = std::filesystem::path(testing::TempDir()) /
                   (std::string("kvplane_") + test->test_suite_name() + "_" + test->name());
        std::filesystem::remove_all(m_folder);
        std::filesystem::create_directories(m_folder);
    }
    ~ConfigFiles() override { std::filesystem::remove_all(m_folder); }

    std::string write(const std::string& name, const std::string& text) {
        const std::filesystem::path path = m_folder / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
        return path.string();
    }

    LoadedConfig load_text(const std::string& text, const std::vector<std::string>& sets = {}) {
        return load(write("config.yaml", text), sets);
    }

    /// The message that loading the text ends in, the folder cut away; "" where it loads.
    std::string error_of(const std::string& text, const std::vector<std::string>& sets = {}) {
        try {
            (void)load_text(text, sets);
        } catch (const UserError& e) {
            return strip(e.what());
        }
        return "";
    }

    std::string strip(std::string message) const {
        const std::string prefix = m_folder.string() + "/";
        for (std::size_t at; (at = message.find(prefix)) != std::string::npos;) {
            message.erase(at, prefix.size());
        }
        return message;
    }

    std::filesystem::path m_folder;
};

}  // namespace kvplane::explore
