# Writes OUTPUT, a C++ source with the files of the folder PAGE, which HttpServer serves.
#   cmake -DPAGE=dashboard/page/dist -DOUTPUT=built_in_page.cc -P cmake/EmbedPage.cmake
set(types
  "index.html=text/html\; charset=utf-8"
  "dashboard.js=text/javascript\; charset=utf-8"
  "dashboard.css=text/css\; charset=utf-8"
  "licences.txt=text/plain\; charset=utf-8")

set(arrays "")
set(entries "")
set(number 0)
foreach(entry IN LISTS types)
  string(REGEX MATCH "^([^=]*)=(.*)$" matched "${entry}")
  set(name "${CMAKE_MATCH_1}")
  set(type "${CMAKE_MATCH_2}")
  file(READ "${PAGE}/${name}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "constexpr char kFile${number}[] = {${bytes} 0};\n")
  set(path "/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  string(APPEND entries
    "    {\"${path}\", \"${type}\", {kFile${number}, sizeof(kFile${number}) - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}" "#include \"dashboard/http_server.h\"

namespace mallocmuzero {
namespace {

${arrays}
constexpr PageFile kPage[] = {
${entries}};

}  // namespace

absl::Span<const PageFile> BuiltInPage() { return kPage; }

}  // namespace mallocmuzero
")
