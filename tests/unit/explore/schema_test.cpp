// SPDX-License-Identifier: Apache-2.0
/// The table machinery on a struct that is not a run's.
#include "explore/schema.h"

#include <sstream>

#include "config_files.h"

namespace kvplane::explore {
namespace {

enum class Colour { kRed, kGreen };

struct Paint {
    std::vector<Bytes> budgets{Bytes::from_gib(64), Bytes::from_gib(256)};
    std::vector<Colour> colours{Colour::kRed};
    std::vector<std::string> names{"a, b", "c"};
    std::vector<std::uint32_t> seeds{1};
    std::optional<Time> limit = Time::from_s(1);
};

Table paint_table(Paint& paint) {
    Table table;
    table.group("paint", [&] {
        table.key("budgets", paint.budgets,
                  between<Bytes>(Bytes::from_kib(4), Bytes::from_gib(1024)),
                  {NumberClass::kChosen, "test", "Budgets."});
        table.key("colours", paint.colours,
                  choice<Colour>({{"red", Colour::kRed}, {"dark green", Colour::kGreen}}),
                  {NumberClass::kChosen, "test", "Colours."});
        table.key("names", paint.names, text(), {NumberClass::kChosen, "test", "Names."});
    });
    table.key("seeds", paint.seeds, between<std::uint32_t>(1, 9),
              {NumberClass::kChosen, "test", "Seeds."});
    table.key("limit", paint.limit, between<Time>(Time::from_s(1), Time::from_s(2)),
              {NumberClass::kChosen, "test", "Limit."});
    return table;
}

class SchemaTest : public ConfigFiles {
protected:
    Settings load_paint(const std::string& text, const std::vector<std::string>& sets = {}) {
        m_paint = Paint{};
        Table table = paint_table(m_paint);
        return load_settings(table, write("paint.yaml", text), sets);
    }
    std::string paint_error(const std::string& text, const std::vector<std::string>& sets = {}) {
        try {
            (void)load_paint(text, sets);
        } catch (const UserError& e) {
            return strip(e.what());
        }
        return "";
    }

    Paint m_paint;
};

TEST_F(SchemaTest, ListsOfQuantitiesChoicesAndTexts) {
    (void)load_paint(
        "paint:\n  budgets: [1 MiB, 2 MiB]\n  colours:\n    - red\n    - dark green\n"
        "  names: [x]\nlimit: null\n",
        {"seeds=[3, 4]"});
    EXPECT_EQ(m_paint.budgets, (std::vector{Bytes::from_mib(1), Bytes::from_mib(2)}));
    EXPECT_EQ(m_paint.colours, (std::vector{Colour::kRed, Colour::kGreen}));
    EXPECT_EQ(m_paint.names, std::vector<std::string>{"x"});
    EXPECT_EQ(m_paint.seeds, (std::vector<std::uint32_t>{3, 4}));
    EXPECT_EQ(m_paint.limit, std::nullopt);
}

TEST_F(SchemaTest, ListsRoundTrip) {
    const Settings defaults = load_paint("{}\n");
    EXPECT_EQ(defaults.at("paint.budgets").value, "[64 GiB, 256 GiB]");
    EXPECT_EQ(defaults.at("paint.names").value, "[\"a, b\", \"c\"]");
    std::ostringstream out;
    defaults.write_effective(out);
    EXPECT_EQ(load_paint(out.str()).hash(), defaults.hash());
    EXPECT_EQ(m_paint.names, Paint{}.names);
    const Settings one = load_paint("paint: {budgets: [64 GiB]}\n");
    EXPECT_NE(one.hash(), defaults.hash());
}

TEST_F(SchemaTest, ListErrors) {
    EXPECT_EQ(paint_error("seeds: 3\n"), "paint.yaml:1: seeds: needs a list, such as [a, b]");
    EXPECT_EQ(paint_error("seeds: []\n"),
              "paint.yaml:1: seeds: is an empty list; give one value or more");
    EXPECT_EQ(paint_error("seeds: [1, 10]\n"),
              "paint.yaml:1: seeds: '10' is out of range; use 1 to 9");
    EXPECT_EQ(paint_error("seeds: [1, [2]]\n"),
              "paint.yaml:1: seeds: is a list; it needs an integer");
    EXPECT_EQ(paint_error("paint: {colours: [red, dark gren]}\n"),
              "paint.yaml:1: paint.colours: 'dark gren' is not available; use one of red, "
              "dark green (did you mean 'dark green'?)");
    EXPECT_EQ(paint_error("{}\n", {"seeds=[1, 2"}).substr(0, 40),
              "--set: seeds: '[1, 2' is not YAML: end o");
    EXPECT_EQ(m_paint.seeds, Paint{}.seeds);
}

TEST_F(SchemaTest, RequireNamesTheFirstKeyThatWasGiven) {
    const Settings settings = load_paint("paint: {}\nseeds: [2]\n");
    EXPECT_NO_THROW(settings.require(true, {"limit"}, "is fine"));
    const auto message = [&](std::initializer_list<std::string_view> keys) {
        try {
            settings.require(false, keys, "is wrong");
        } catch (const UserError& e) {
            return strip(e.what());
        }
        return std::string();
    };
    EXPECT_EQ(message({"limit", "seeds"}), "paint.yaml:2: seeds: is wrong");
    EXPECT_EQ(message({"limit", "paint.names"}), "paint.yaml: limit: is wrong");
}

TEST_F(SchemaTest, KeysAreDistinct) {
    Paint paint;
    Table table = paint_table(paint);
    const auto add = [&](std::string_view name) {
        table.key(name, paint.seeds, between<std::uint32_t>(1, 9), {});
    };
    EXPECT_THROW(add("limit"), InvariantError);
    EXPECT_THROW(add("paint"), InvariantError);
    EXPECT_THROW(table.group("limit", [] {}), InvariantError);
}

TEST(NearestTest, SmallestEditDistance) {
    const std::vector<std::string> words{"width", "weight", "mps", "mrrs"};
    EXPECT_EQ(nearest("widht", words), "width");
    EXPECT_EQ(nearest("WIDTH", words), "width");
    EXPECT_EQ(nearest("wieght", words), "weight");
    EXPECT_EQ(nearest("mp", words), "mps");
    EXPECT_EQ(nearest("capacity", words), "");
    EXPECT_EQ(nearest("", words), "");
    EXPECT_EQ(nearest("x", std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace kvplane::explore
