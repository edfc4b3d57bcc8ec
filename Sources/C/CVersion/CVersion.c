#include "CVersion.h"

// A section of its own, which objcopy finds. It has a terminating zero: stamp writes fewer than 64 characters.
__attribute__((section(".snapshot"))) static const char snapshot[64] = "";

const char *cversion_snapshot(void) { return snapshot; }
