// The page's template and its bundled script, built into the program. The script is empty where npm was absent.
#pragma once

#include <string_view>

namespace overlap::sweep {

std::string_view page_template();
std::string_view page_script();

}  // namespace overlap::sweep
