#include "planted.hpp"

#include "catch.hpp"

using namespace planted;

TEST_CASE("a correct graph passes every check in any order") {
  const OpGraph g = gemm_rs({});
  CHECK(validate(g).empty());
  CHECK(find_races(g).empty());
  CHECK(failing_seeds(g) == 0);
  CHECK(same_structure(g, gemm_rs({})));
}

TEST_CASE("a dropped dependency is a race, whatever the timing") {
  const OpGraph copy = gemm_rs({.drop_copy_wait = true});
  CHECK(validate(copy).empty());
  CHECK(find_races(copy).size() == 2);  // one a device
  CHECK(mentions(find_races(copy), "part 0 of op 0 'gemm 0' on device 0 writes and op 2 'copy 0' on device 0 reads"));
  CHECK(failing_seeds(copy) > 0);
  const OpGraph add = gemm_rs({.drop_add_wait = true});
  CHECK(find_races(add).size() == 2);
  CHECK(failing_seeds(add) > 0);
  CHECK_FALSE(same_structure(copy, gemm_rs({})));
}

TEST_CASE("waiting for the wrong part of a fused GEMM is a race") {
  const OpGraph g = gemm_rs({.part_for_op = true});
  CHECK(validate(g).empty());
  CHECK(find_races(g).size() == 2);
}

TEST_CASE("a wrong slice gives a wrong result though nothing races by time") {
  const OpGraph g = gemm_rs({.wrong_slice = true});
  CHECK(validate(g).empty());
  CHECK(failing_seeds(g) == 40);
}

TEST_CASE("overlapping parts are malformed and race") {
  const OpGraph g = gemm_rs({.overlapping_parts = true});
  CHECK(mentions(validate(g), "two parts overlap"));
  CHECK_FALSE(find_races(g).empty());
}

TEST_CASE("a cycle through a part is found and named") {
  const OpGraph g = gemm_rs({.cycle = true});
  const auto problems = validate(g);
  REQUIRE(problems.size() == 1);
  CHECK(mentions(problems, "waits for itself"));
  for (const char* name : {"gemm", "copy", "add"}) CHECK(mentions(problems, name));
  CHECK(mentions(find_races(g), "waits for itself"));
  CHECK(mentions(reference_run(g, 1), "waits for itself"));
}

TEST_CASE("a transfer that reads less than it writes is malformed") {
  CHECK(mentions(validate(gemm_rs({.short_read = true})), "reads 2 elements and writes 4"));
}

TEST_CASE("the dump is stable and names what is there") {
  const std::string text = to_json(gemm_rs({}));
  CHECK(text == to_json(gemm_rs({})));
  CHECK(text.find("\"label\": \"copy 1\"") != std::string::npos);
  CHECK(text.find("\"deps\": [[0, 0]]") != std::string::npos);
}
