// Exponent statistics. Logarithms here serve tests, studies and `select`; no time depends on them.
#include <algorithm>
#include <cmath>

#include "codec/planes.hpp"
#include "overlap/codec.hpp"

namespace overlap {
namespace {

// Shares of exponents when P(|x| < t) = below(t): exponent e holds [2^(e-127), 2^(e-126)), and a value within half a
// last place (2^-9) below a power of two rounds up to it.
template <class F>
ExponentShares shares(F below) {
  constexpr double round = 1.0 - 1.0 / 512;
  ExponentShares p{};
  double before = 0.0;
  for (int e = 0; e < 255; ++e) {
    const double edge = below(std::ldexp(round, e - 126));
    p[static_cast<std::size_t>(e)] = edge - before;
    before = edge;
  }
  p[255] = 1.0 - before;
  return p;
}

}  // namespace

ExponentShares gaussian_exponents(double sigma) {
  return shares([sigma](double t) { return std::erf(t / (sigma * std::sqrt(2.0))); });
}

ExponentShares uniform_exponents(double largest) {
  return shares([largest](double t) { return std::min(1.0, t / largest); });
}

ExponentShares exponents_of(std::span<const std::uint16_t> values) {
  ExponentShares p{};
  for (const std::uint16_t v : values) p[codec::exponent_of(v)] += 1.0;
  for (double& x : p) x /= static_cast<double>(std::max<std::size_t>(1, values.size()));
  return p;
}

double entropy_bits(const ExponentShares& p) {
  double bits = 0.0;
  for (const double x : p) bits -= x > 0 ? x * std::log2(x) : 0.0;
  return bits;
}

double window_coverage(const ExponentShares& p) {
  double best = 0.0;
  for (std::size_t e = 0; e + 7 <= 256; ++e) {
    double sum = 0.0;
    for (std::size_t i = 0; i < 7; ++i) sum += p[e + i];
    best = std::max(best, sum);
  }
  return best;
}

double window_ratio(const ExponentShares& p) {
  return (1.0 + 3.0 / 8 + (1.0 - window_coverage(p)) + 4.0 / 256) / 2.0;
}

double entropy_bound_ratio(const ExponentShares& p) {
  return (8.0 + entropy_bits(p)) / 16.0;
}

}  // namespace overlap
