# `cmake --install`: headers, static libraries, program, and a package for find_package(lehi).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lehi)
install(TARGETS lehi lehi_kernels EXPORT lehiTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/lehi DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT lehiTargets NAMESPACE lehi:: DESTINATION ${package_dir})

configure_package_config_file(cmake/lehiConfig.cmake.in lehiConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(lehiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lehiConfig.cmake ${PROJECT_BINARY_DIR}/lehiConfigVersion.cmake
        DESTINATION ${package_dir})

if(LEHI_BUILD_PROGRAM)
  install(TARGETS lehi_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
