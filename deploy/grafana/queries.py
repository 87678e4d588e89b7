"""Expressions that both dashboards use."""

from __future__ import annotations

OPERATIONS_UID = "mallocmuzero-operations"
LEARNING_UID = "mallocmuzero-learning"

# Selectors of all series of the chosen cluster, and of those of the chosen processes.
JOB = 'job="$job"'
CHOSEN = 'job="$job", instance=~"$instance"'

RATE = "$__rate_interval"
CLIENT = "mallocmuzero_replay_client"


def rate(metric: str, selector: str, by: str = "") -> str:
    """Returns the rate of a counter a second, summed over processes."""
    grouping = f" by ({by})" if by else ""
    return f"sum{grouping} (rate({metric}{{{selector}}}[{RATE}]))"


def quantile(share: float, histogram: str, selector: str, by: str = "") -> str:
    labels = f"{by}, le" if by else "le"
    return f"histogram_quantile({share}, {rate(histogram + '_bucket', selector, labels)})"
