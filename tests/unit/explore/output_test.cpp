// SPDX-License-Identifier: Apache-2.0
#include "explore/output.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "config_files.h"

namespace kvplane::explore {
namespace {

namespace fs = std::filesystem;

class OutputTest : public ConfigFiles {
protected:
    std::string path(const std::string& name) { return (m_folder / name).string(); }
    static std::string text(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    std::size_t files() {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(m_folder), fs::directory_iterator()));
    }
};

TEST_F(OutputTest, WritesAndReplacesFiles) {
    write_file(path("a"), "one");
    EXPECT_EQ(text(path("a")), "one");
    fs::permissions(path("a"), fs::perms::owner_read | fs::perms::owner_write);
    write_file(path("a"), "two");
    EXPECT_EQ(text(path("a")), "two");
    EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(files(), 1U);
}

TEST_F(OutputTest, LeavesAUsersPartialFileAlone) {
    write("a.partial", "mine");
    write_file(path("a"), "one");
    EXPECT_EQ(text(path("a.partial")), "mine");
    EXPECT_EQ(files(), 2U);
}

TEST_F(OutputTest, WritesWhatALinkNames) {
    write("target", "old");
    fs::create_symlink("target", path("link"));
    fs::create_symlink("not_yet", path("dangling"));
    write_file(path("link"), "new");
    write_file(path("dangling"), "born");
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_TRUE(fs::is_symlink(path("dangling")));
    EXPECT_EQ(text(path("target")), "new");
    EXPECT_EQ(text(path("not_yet")), "born");
}

TEST_F(OutputTest, WritesIntoAPipe) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    std::string read;
    std::thread reader([&] { read = text(path("pipe")); });
    write_file(path("pipe"), "through");
    reader.join();
    EXPECT_EQ(read, "through");
    EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(OutputTest, AFailureLeavesNothingBehind) {
    EXPECT_THROW(write_file("/dev/full", std::string(1 << 20, 'x')), UserError);
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
    EXPECT_THROW(write_file(path("no_folder/a"), "x"), UserError);
    fs::create_directories(path("folder"));
    EXPECT_THROW(write_file(path("folder"), "x"), UserError);
    EXPECT_EQ(files(), 1U);
}

TEST_F(OutputTest, ALostWriteIsReported) {
    std::ofstream full("/dev/full");
    full << "x";
    EXPECT_THROW(finish(full), UserError);
    std::ostringstream fine;
    fine << "x";
    finish(fine);
}

TEST(ProgressLineTest, WritesOverItselfAndEndsItsLine) {
    std::ostringstream out;
    {
        ProgressLine line(&out);
        line.show("reading");
        line.show("done");
    }
    EXPECT_EQ(out.str(), "\rreading\rdone   \n");
    std::ostringstream silent;
    { const ProgressLine line(&silent); }
    EXPECT_EQ(silent.str(), "");
    ProgressLine(nullptr).show("nothing");
}

}  // namespace
}  // namespace kvplane::explore
