// The program's file system layer: no other code in src/ opens a file for writing. tests/faults makes every one of
// these calls fail in turn.
//
//   file_error.h     what is thrown
//   input_file.h     reading
//   output_file.h    writing to an open file
//   publish.h        replacing a file or directory atomically, also across a crash
//   directories.h    creating, listing, removing and locking directories
//   leftovers.h      removing temporary files of killed processes
#pragma once

#include "files/directories.h"
#include "files/file_error.h"
#include "files/input_file.h"
#include "files/leftovers.h"
#include "files/output_file.h"
#include "files/publish.h"
