#include "overlap/error.hpp"

#include <algorithm>

namespace overlap {

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 2) + 1;
  std::vector<std::size_t> row;
  for (const std::string& c : candidates) {
    row.resize(c.size() + 1);
    for (std::size_t j = 0; j <= c.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= name.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= c.size(); ++j) {
        const std::size_t change = diagonal + (name[i - 1] == c[j - 1] ? 0U : 1U);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
      }
    }
    if (row[c.size()] < best_distance) {
      best_distance = row[c.size()];
      best = c;
    }
  }
  return best;
}

}  // namespace overlap
