// join() is in format.h.
#pragma once

#include <fmt/format.h>
