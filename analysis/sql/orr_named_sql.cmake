# orr_named_sql(TARGET FILE...): the queries of FILE, NAME.sql, for the sources of TARGET; named_sql.cmake
# tells how they are named.
function(orr_named_sql target)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/sql)
  set(maker ${PROJECT_SOURCE_DIR}/analysis/sql/named_sql.cmake)
  foreach(file ${ARGN})
    get_filename_component(room ${file} NAME_WE)
    add_custom_command(
      OUTPUT ${out}/${room}_sql.c ${out}/${room}_sql.h ${out}/${room}_queries.sql
      COMMAND ${CMAKE_COMMAND} -DIN=${CMAKE_CURRENT_SOURCE_DIR}/${file} -DOUT=${out} -DROOM=${room} -P ${maker}
      DEPENDS ${file} ${maker}
      VERBATIM)
    target_sources(${target} PRIVATE ${out}/${room}_sql.c ${out}/${room}_sql.h)
    set_property(GLOBAL APPEND PROPERTY ORR_QUERIES ${out}/${room}_queries.sql)
  endforeach()
  target_include_directories(${target} PRIVATE ${out})
endfunction()
