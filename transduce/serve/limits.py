"""Who may send requests, and how many: API keys, and rate limits per key and address."""

import time

import limits
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from transduce.errors import ConfigError
from transduce.serve.keys import KeyFile
from transduce.serve.refusal import RefusalError

NO_KEY = "Please give an api_key: this server requires one"


def parse_rate(text: str) -> limits.RateLimitItem:
    """Such as "60/minute"; raises ConfigError otherwise."""
    try:
        return limits.parse(text)
    except ValueError:
        raise ConfigError(f"{text!r} is not a rate limit: write, for example, 60/minute") from None


class Access:
    """Checks keys and counts requests."""

    def __init__(self, keys: KeyFile | None, rate_limit: str) -> None:
        """Without `keys`, requests need none, and whatever they give is ignored."""
        self.keys = keys
        self.rate = parse_rate(rate_limit) if rate_limit else None
        self._counter = FixedWindowRateLimiter(MemoryStorage())

    def check(self, secret: str | None, address: str) -> None:
        """Raises RefusalError for a missing or wrong key, or for too many requests."""
        who, rate = f"address {address}", self.rate
        if self.keys is not None:
            if not secret:
                self._count(who, rate)
                raise RefusalError(400, NO_KEY)
            key = self.keys.find(secret)
            if key is None:
                self._count(who, rate)
                raise RefusalError(403, "Invalid API key")
            who = f"key {key.id}"
            rate = parse_rate(key.rate_limit) if key.rate_limit else rate
        self._count(who, rate)

    def _count(self, who: str, rate: limits.RateLimitItem | None) -> None:
        if rate is not None and not self._counter.hit(rate, who):
            wait = self._counter.get_window_stats(rate, who).reset_time - time.time()
            raise RefusalError(429, f"Slowdown: {rate}", wait)
