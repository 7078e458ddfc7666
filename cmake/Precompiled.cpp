// Holds the precompiled header; see cmake/PolyAttn.cmake.
