// Mutated copies of the bundled files: each is read or refused with a message, never a crash, never a NaN.
#include <cmath>

#include "catch.hpp"
#include "config/paths.hpp"
#include "config/reader.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "topology/generator.hpp"

using namespace overlap;

namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::size_t below(std::size_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>((state_ >> 33U) % n);
  }

 private:
  std::uint64_t state_;
};

// One to four edits: a byte flipped, a piece cut, doubled or moved, a token replaced by a nasty one.
std::string mutated(std::string text, Random& random) {
  static const std::vector<std::string> nasty = {
      "0",      "-1",         "1e308",    "1e999",       "NaN",
      "null",   "true",       "\"\"",     "[]",          "{}",
      "[[[",    "}}",         ",",        "\"nan\"",     "\"inf s\"",
      "1.5",    "4294967296", "\"0 us\"", "\"1 GB\"",    "-0.0",
      "1e-999", "\xff",       "\\u0000",  "\"-1 GB/s\"", "18446744073709551616"};
  for (std::size_t edits = 1 + random.below(4); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = random.below(text.size());
    const std::size_t length = 1 + random.below(20);
    switch (random.below(6)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(random.below(text.size()), length));
        break;
      case 3:
        text.resize(at);
        break;
      default: {
        // In place of a whole value, so that most results are still JSON.
        const std::size_t colon = text.find(": ", at);
        if (colon == std::string::npos) break;
        const std::size_t end = text.find_first_of(",}]\n", colon);
        if (end == std::string::npos) break;
        text.replace(colon + 2, end - colon - 2, nasty[random.below(nasty.size())]);
      }
    }
  }
  return text;
}

bool finite(const Topology& t) {
  for (const Link& l : t.links()) {
    if (!(l.payload().si() > 0) || !std::isfinite(l.payload().si()) || !(l.latency.si() >= 0)) return false;
  }
  return t.device_count() > 0;
}

struct Tally {
  int read = 0;
  int refused = 0;
};

template <class Read>
Tally fuzz(const std::string& folder, int rounds, Read read) {
  Tally tally;
  std::uint64_t seed = 1;
  for (const std::string& file : config::bundled_files(folder)) {
    const std::string text = config::read_text(file);
    for (int i = 0; i < rounds; ++i) {
      Random random(seed++);
      const std::string bad = mutated(text, random);
      INFO(file << " seed " << seed - 1);
      try {
        const bool sound = read(bad, file);
        CHECK(sound);
        ++tally.read;
      } catch (const InputError& e) {
        ++tally.refused;
        CHECK(std::string(e.what()).size() < 2000);
      }
    }
  }
  return tally;
}

}  // namespace

TEST_CASE("mutated topologies") {
  const Tally t = fuzz("topologies", 40, [](const std::string& text, const std::string& file) {
    const config::Document doc(text, file);
    return finite(read_topology(doc.root(), "fuzz"));
  });
  CHECK(t.refused > t.read);
  CHECK(t.read > 0);
}

TEST_CASE("mutated experiments") {
  const Tally t = fuzz("configs", 60, [](const std::string& text, const std::string& file) {
    const Experiment e = parse_experiment(text, file);
    bool good = finite(e.topology) && !e.workloads.empty() && !e.schedules.empty();
    for (const Device& d : e.devices) good = good && std::isfinite(d.hbm.si()) && d.hbm.si() > 0;
    for (const Traffic& f : e.background) good = good && f.rate.si() > 0 && f.stop > f.start;
    for (const Workload& w : e.workloads) good = good && w.tokens > 0 && w.in > 0 && w.out > 0 && w.tp > 0;
    return good;
  });
  CHECK(t.refused > t.read);
  CHECK(t.read > 0);
}

TEST_CASE("mutated device and workload files") {
  const std::string temporary = "overlapsim-fuzz.tmp.json";
  const auto with_file = [&temporary](const std::string& text, auto load) {
    std::FILE* f = std::fopen(temporary.c_str(), "wb");
    REQUIRE(f != nullptr);
    std::fwrite(text.data(), 1, text.size(), f);
    std::fclose(f);
    return load(temporary);
  };
  const Tally devices = fuzz("configs/devices", 60, [&](const std::string& text, const std::string&) {
    return with_file(text, [](const std::string& f) {
      const Device d = load_device(f);
      bool good = d.sms > 0 && d.hbm.si() > 0 && std::isfinite(d.hbm.si()) && d.hbm_efficiency > 0;
      for (const auto& p : d.peak) good = good && (!p || (p->si() > 0 && std::isfinite(p->si())));
      for (const CollectiveTable& t : d.collectives) good = good && t.knots.size() >= 2;
      return good;
    });
  });
  const Tally workloads = fuzz("workloads", 60, [&](const std::string& text, const std::string&) {
    return with_file(text, [](const std::string& f) { return !load_workloads(f).workloads.empty(); });
  });
  std::remove(temporary.c_str());
  CHECK(devices.refused > devices.read);
  CHECK(workloads.read > 0);
}
