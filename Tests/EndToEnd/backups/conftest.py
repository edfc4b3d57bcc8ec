"""An authenticator for each test, as the daemon's tests have it."""

from daemon.conftest import key, pristine, running, umask_of_debian_13  # noqa: F401: fixtures of these tests too
