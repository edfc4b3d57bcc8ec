"""How long a test waits for what must come: limits are for hangs only, and one setting makes all of them longer."""

import os

#: Limits are multiplied by this; `scripts/test` sets it.
PATIENCE = float(os.environ.get("LIQUID_TEST_PATIENCE") or 1)
