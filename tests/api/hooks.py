# SPDX-License-Identifier: Apache-2.0
"""For schemathesis: leave out requests that wait for the next event or line of a log (follow=1, and the default of
/v1/events).  tests/cli/client_daemon.sh and tests/unit/test_api.c have them."""
import schemathesis


@schemathesis.hook
def filter_case(context, case):
    follows = (case.query or {}).get("follow", case.operation.path == "/v1/events")
    return not (follows is True or str(follows).strip() == "1")
