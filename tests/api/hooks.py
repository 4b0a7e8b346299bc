# SPDX-License-Identifier: Apache-2.0
"""For schemathesis: leave out requests that wait for the next event or line of a log (follow=1, and the default of
/v1/events), and those of /v1/watch that are not refused.  tests/cli/client_daemon.sh, tests/unit/test_api.c and
tests/unit/test_watch.c have them.  Also left out: check=1 of POST /v1/jobs, which answers with the name of a job that
it does not make (tests/cli/openapi.sh has it)."""
import schemathesis


@schemathesis.hook
def filter_case(context, case):
    if case.operation.path == "/v1/watch":
        after = (case.query or {}).get("after")
        return after is not None and not str(after).strip().isdigit()
    if case.operation.path == "/v1/jobs" and case.operation.method.upper() == "POST":
        return str((case.query or {}).get("check", "0")).strip() != "1"
    follows = (case.query or {}).get("follow", case.operation.path == "/v1/events")
    return not (follows is True or str(follows).strip() == "1")
