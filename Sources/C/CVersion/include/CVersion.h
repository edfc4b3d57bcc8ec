#pragma once

/// What follows the version of the product in `--version`: the commit of a snapshot, such as "~git20261123093000.0123abcd";
/// empty for a release, and before `stamp` in scripts/version.sh has written it into the program.
const char *cversion_snapshot(void);
