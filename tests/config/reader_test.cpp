// The JSON layer: values, places, and the files that are no JSON.
#include "config/reader.hpp"

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "config/paths.hpp"
#include "overlap/error.hpp"

using namespace overlap;
using namespace overlap::config;

namespace {
std::string message(const std::string& text) {
  try {
    const Value v = parse_text(text, "f.json");
    return "accepted";
  } catch (const InputError& e) {
    return e.what();
  }
}
std::string many(std::size_t n, const std::string& what) {
  std::string out;
  out.reserve(n * what.size());
  for (std::size_t i = 0; i < n; ++i) out += what;
  return out;
}
}  // namespace

TEST_CASE("values keep their kind and order") {
  const Value v = parse_text(R"({"b": 1, "a": [1.5, "x", true, null, -2]})", "f.json");
  CHECK(v.members[0].first == "b");
  CHECK(v.find("a")->items.size() == 5);
  CHECK(v.find("a")->items[4].integer == -2);
  CHECK(v.find("a")->items[0].real == 1.5);
}

TEST_CASE("what is no JSON is refused with line and column, shortly") {
  CHECK_THAT(message(""), contains_text("f.json:1:1: the file is empty"));
  CHECK_THAT(message("{\"a\": 1,\n  \"b\" 2}"), contains_text("f.json:2:"));
  CHECK_THAT(message("{\"a\": 1,\n \"b\":"), contains_text("ends too early"));
  CHECK_THAT(message("{\"a\": 1} x"), contains_text("f.json:1:"));
  CHECK_THAT(message("{\"a\": NaN}"), contains_text("not valid JSON"));
  CHECK_THAT(message("{\"a\": 1e999}"), !contains_text("accepted"));
  CHECK_THAT(message(R"({"x": {"a": 1, "a": 2}})"), contains_text("f.json:/x/a: this key stands twice"));
  CHECK_THAT(message(many(100000, "[")), contains_text("deeper than"));
  CHECK_THAT(message(many(100000, "{\"a\":")), contains_text("deeper than"));
}

TEST_CASE("ten megabytes of garbage give one short message at once") {
  std::string noise;
  std::uint32_t state = 1;
  while (noise.size() < 10000000) {
    state = state * 1664525U + 1013904223U;
    noise += static_cast<char>(state >> 24U);
  }
  CHECK(message(noise).size() < 300);
  CHECK(message("\"" + many(10000000, "a")).size() < 300);
  CHECK(message("[" + many(3000000, "1,")).size() < 300);
}

TEST_CASE("files that cannot be read") {
  CHECK_THROWS_WITH(parse_file("/nowhere/x.json"), contains_text("no such file"));
  CHECK_THROWS_WITH(parse_file("/tmp"), contains_text("not a regular file"));
  CHECK_THROWS_WITH(resolve("h20.json", "", "configs/devices"), contains_text("did you mean 'h200'"));
}

TEST_CASE("a pointer escapes what it must, and names the item of a list") {
  const Document doc(R"({"a/b": [{"c~d": "5 GB"}]})", "f.json");
  const Cursor c = doc.root().member("a/b").items()[0].member("c~d");
  CHECK(c.where() == "f.json:/a~1b/0/c~0d");
  CHECK_THROWS_WITH(c.time(), contains_text("f.json:/a~1b/0/c~0d") && contains_text("size where a time belongs"));
}

TEST_CASE("numbers are checked") {
  const Document doc(R"({"n": 3, "z": 0, "r": 0.5, "big": 1e300, "s": "3 us", "neg": "-3 us"})", "f.json");
  const Cursor r = doc.root();
  CHECK(r.member("n").count() == 3);
  CHECK(r.member("s").time().si() == Approx(3e-6));
  CHECK_THROWS_AS(r.member("z").count(), InputError);
  CHECK_THROWS_AS(r.member("r").count(), InputError);
  CHECK_THROWS_AS(r.member("big").fraction(), InputError);
  CHECK_THROWS_AS(r.member("neg").time(), InputError);
  CHECK_THROWS_AS(r.member("n").time(), InputError);
  CHECK_THROWS_AS(r.member("s").bandwidth(), InputError);
}

TEST_CASE("a value goes back to the text that it was read from") {
  const std::string text = R"({"x":[1,2.5,{"y":"z"}],"e":[],"o":{},"n":null,"t":true})";
  CHECK(json_text(parse_text(text, "f")) == text);
}
