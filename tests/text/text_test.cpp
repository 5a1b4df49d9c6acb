#include <limits>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "overlap/error.hpp"
#include "text/json_writer.hpp"

using namespace overlap;
using nlohmann::json;

TEST_CASE("JSON numbers are exact, text is escaped, what is not finite is refused") {
  CHECK(json_number(0.1) == "0.1");
  CHECK(json::parse(json_number(1.0 / 3.0)).get<double>() == 1.0 / 3.0);
  CHECK(json_string("a\"b\\\n\t\x01") == "\"a\\\"b\\\\\\n\\t\\u0001\"");
  CHECK(json::parse(json_string("a\"b\\\n\t\x01\xc3\xa9")) == "a\"b\\\n\t\x01\xc3\xa9");
  CHECK_THROWS_AS(json_number(std::numeric_limits<double>::quiet_NaN()), CheckError);
  CHECK_THROWS_AS(json_number(std::numeric_limits<double>::infinity()), CheckError);
}

TEST_CASE("a field of CSV is quoted only where it must be") {
  CHECK(csv_field("plain text") == "plain text");
  CHECK(csv_field("a,\"b\"") == "\"a,\"\"b\"\"\"");
  CHECK(csv_field("two\nlines") == "\"two\nlines\"");
  CHECK(csv_field("\r") == "\"\r\"");
}

TEST_CASE("XML text holds no markup") {
  CHECK(xml_text("<a b=\"c\"> & d") == "&lt;a b=&quot;c&quot;&gt; &amp; d");
}

TEST_CASE("the JSON writer keeps the order, indents by level and leaves empty ones closed") {
  JsonWriter w(0);
  w.begin_object().key("b\"\n").value(0.1).key("a").begin_list().value(1).value(true).null().end_list();
  w.field("e", "x").key("o").begin_object().end_object().end_object();
  CHECK(w.text() == "{\"b\\\"\\n\":0.1,\"a\":[1,true,null],\"e\":\"x\",\"o\":{}}");
  JsonWriter j;
  j.begin_object().key("a").begin_list().value(std::uint64_t{1} << 63U).end_list().field("b", -2).end_object();
  CHECK(std::move(j).take() == "{\n  \"a\": [\n    9223372036854775808\n  ],\n  \"b\": -2\n}\n");
}
