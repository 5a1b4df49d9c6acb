// Where the project and the data outside it lie. Only paths.cpp knows, so test objects do not depend on the place.
#pragma once

#include <string>

std::string source_dir();   // the project's root
std::string data_dir();     // OVERLAPSIM_DATA: may not exist; a test that needs it skips and says so
std::string binary_path();  // the overlapsim program of this build
