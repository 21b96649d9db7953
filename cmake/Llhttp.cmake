# The HTTP parser: the system's libllhttp where there is one, else Debian's node-llhttp, whose C sources are compiled here.
find_library(LIBLLHTTP llhttp)
find_path(LLHTTP_INCLUDE llhttp.h PATHS /usr/share/include/llhttp PATH_SUFFIXES llhttp REQUIRED)
if(LIBLLHTTP)
  add_library(fl_llhttp INTERFACE)
  target_link_libraries(fl_llhttp INTERFACE ${LIBLLHTTP})
  target_include_directories(fl_llhttp SYSTEM INTERFACE ${LLHTTP_INCLUDE})
else()
  add_library(fl_llhttp STATIC /usr/share/llhttp/api.c /usr/share/llhttp/http.c /usr/share/llhttp/llhttp.c)
  target_include_directories(fl_llhttp SYSTEM PUBLIC ${LLHTTP_INCLUDE})
  target_compile_definitions(fl_llhttp PRIVATE LLHTTP_STRICT_MODE=1) # newer releases know no other mode
  target_compile_options(fl_llhttp PRIVATE -w)
endif()
