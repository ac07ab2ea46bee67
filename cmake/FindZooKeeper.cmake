# ZooKeeper's C client has no .pc file. Finds the threaded library, and finds out by linking which optional parts this
# build of it has, since a distribution may leave them out (Debian's has neither). Nothing uses them yet: they are only told.
#   ZooKeeper::mt          imported target
#   ZOOKEEPER_HAS_TLS      zookeeper_init_ssl() links
#   ZOOKEEPER_HAS_SASL     zookeeper_init_sasl() links
include(CMakePushCheckState)
include(CheckCSourceCompiles)
include(FindPackageHandleStandardArgs)

find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeper_LIBRARY zookeeper_mt)
find_package(Threads REQUIRED)
find_package_handle_standard_args(ZooKeeper REQUIRED_VARS ZooKeeper_LIBRARY ZooKeeper_INCLUDE_DIR)

if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::mt)
  add_library(ZooKeeper::mt UNKNOWN IMPORTED)
  set_target_properties(ZooKeeper::mt PROPERTIES
    IMPORTED_LOCATION "${ZooKeeper_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_LIBRARIES "${ZooKeeper_LIBRARY}" Threads::Threads)
  check_c_source_compiles("int zookeeper_init_ssl(void); int main(void) { return zookeeper_init_ssl(); }" ZOOKEEPER_HAS_TLS)
  check_c_source_compiles("int zookeeper_init_sasl(void); int main(void) { return zookeeper_init_sasl(); }" ZOOKEEPER_HAS_SASL)
  cmake_pop_check_state()
  foreach(part TLS SASL)
    if(ZOOKEEPER_HAS_${part})
      message(STATUS "ZooKeeper's client library has ${part}")
    else()
      message(STATUS "ZooKeeper's client library has no ${part}")
    endif()
  endforeach()
endif()
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)
