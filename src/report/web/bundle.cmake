# cmake -DNPM=... -DWORK=folder -DBUNDLE=file -P bundle.cmake
execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error WORKING_DIRECTORY ${WORK}
                RESULT_VARIABLE failed ERROR_VARIABLE why OUTPUT_QUIET)
if(NOT failed)
  execute_process(COMMAND ${NPM} run --silent build -- --outfile=${BUNDLE} --log-level=error
                  WORKING_DIRECTORY ${WORK} RESULT_VARIABLE failed ERROR_VARIABLE why OUTPUT_QUIET)
endif()
if(failed)
  message(WARNING "the report page could not be bundled (npm: ${why}); `overlapsim report` will have no page")
  file(WRITE ${BUNDLE} "")
endif()
