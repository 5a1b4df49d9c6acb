#include "sweep/page_assets.hpp"

// The files are taken in by the assembler: a string literal of this size would take the compiler long.
asm(R"(
  .section .rodata
  .global overlap_page_template_begin, overlap_page_template_end, overlap_page_script_begin, overlap_page_script_end
overlap_page_template_begin:
  .incbin ")" OVERLAPSIM_PAGE_TEMPLATE R"("
overlap_page_template_end:
overlap_page_script_begin:
  .incbin ")" OVERLAPSIM_PAGE_SCRIPT R"("
overlap_page_script_end:
  .byte 0
  .text
)");

extern "C" {
extern const char overlap_page_template_begin[];
extern const char overlap_page_template_end[];
extern const char overlap_page_script_begin[];
extern const char overlap_page_script_end[];
}

namespace overlap::sweep {

std::string_view page_template() {
  return {overlap_page_template_begin, overlap_page_template_end};
}
std::string_view page_script() {
  return {overlap_page_script_begin, overlap_page_script_end};
}

}  // namespace overlap::sweep
