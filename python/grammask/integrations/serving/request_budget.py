"""Token budgets of requests to servers: the maximum number of tokens of a request reaches its matcher.

A server truncates an output at the maximum number of tokens of its request. With a budget the output is complete within
that number, and the finish reason is "stop". The environment variable ``GRAMMASK_BUDGET`` of the server selects what
becomes of a request whose maximum is too small for any text of its grammar.
"""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Any

from grammask.diagnostics import error_diagnostic
from grammask.errors import GrammarError, GrammarSemanticError, UnsupportedGrammar
from grammask.schemas.embedded_options import BUDGET, KEYWORD, embedded_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask.integrations.serving.request_matcher import RequestMatcher

__all__ = ["BudgetPolicy", "set_request_budget"]

VARIABLE = "GRAMMASK_BUDGET"


class BudgetPolicy(Enum):
    """What becomes of requests whose maximum number of tokens is too small; the values of ``GRAMMASK_BUDGET``."""

    REQUIRED = "required"
    """They are refused, with the number that would suffice. The default."""

    PREFERRED = "preferred"
    """They are truncated, with a warning in the log."""

    OFF = "off"
    """No request has a budget; all may be truncated."""

    @staticmethod
    def of_environment() -> BudgetPolicy:
        """Returns the policy of this process.

        Raises:
            ValueError: The variable has another value.
        """
        value = os.environ.get(VARIABLE) or BudgetPolicy.REQUIRED.value
        try:
            return BudgetPolicy(value)
        except ValueError:
            values = ", ".join(policy.value for policy in BudgetPolicy)
            msg = f"{VARIABLE}={value}: the values are {values}"
            raise ValueError(msg) from None

    def for_request(self, *constraints: Any) -> BudgetPolicy:
        """Returns the policy that a schema or a structural tag carries (``x-grammask``), otherwise this one.

        Args:
            constraints: The constraints of a request; those that are no JSON carry no policy.

        Raises:
            GrammarSemanticError: A carried policy is none of the values.
        """
        for constraint in constraints:
            if isinstance(constraint, str) and KEYWORD not in constraint:
                continue
            carried = embedded_options(constraint).get(BUDGET)
            if carried is None:
                continue
            try:
                return BudgetPolicy(carried)
            except ValueError:
                values = ", ".join(f'"{policy.value}"' for policy in BudgetPolicy)
                message = f"a budget is one of {values}"
                diagnostic = error_diagnostic("invalid-schema", message, pointer=f"#/{KEYWORD}/{BUDGET}")
                raise GrammarSemanticError(diagnostic.rendered, [diagnostic]) from None
        return self


def set_request_budget(
    matcher: RequestMatcher,
    remaining: Callable[[], int],
    *,
    policy: BudgetPolicy,
    begins_late: bool,
    warn: Callable[[str], None],
) -> None:
    """Sets the budget of a request.

    Args:
        matcher: The matcher of the request, at the beginning of its text.
        remaining: Returns the number of tokens that the server still permits.
        policy: The policy of the server.
        begins_late: Whether other tokens may precede the text: reasoning, which no mask limits. If too few tokens
            remain when the text begins, it has no budget, with a warning.
        warn: Writes a warning to the log of the server.

    Raises:
        BudgetTooSmall: The number does not suffice, and the policy requires a budget.
        GrammarError: No completion is known, or a limit was exceeded, and the policy requires a budget. Grammars that
            cannot have one have none, with a warning.
    """
    if policy is BudgetPolicy.OFF:
        return
    if not matcher.can_have_budget:
        warn("a request whose stop tokens have texts has no token budget, so its output may be truncated")
        return
    try:
        matcher.set_budget(max(0, remaining()))
    except GrammarError as error:
        if policy is BudgetPolicy.REQUIRED and not isinstance(error, UnsupportedGrammar):
            raise
        _warn_of_truncation(error, warn)
        return
    if begins_late:
        matcher.set_late_budget(lambda: max(0, remaining()), lambda error: _warn_of_truncation(error, warn))


def _warn_of_truncation(error: GrammarError, warn: Callable[[str], None]) -> None:
    warn(f"the output may be truncated: {error}")
