"""What a client is told when its request is not served."""

import math


class RefusalError(Exception):
    """An answer other than 200: the status, one sentence, and when to try again."""

    def __init__(self, status: int, sentence: str, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
        self.headers = {}
        if retry_after is not None:
            self.headers["Retry-After"] = str(max(1, math.ceil(retry_after)))
        if status in (408, 413):  # the rest of the body is not read
            self.headers["Connection"] = "close"


def missing(name: str) -> RefusalError:
    return RefusalError(400, f"Invalid request: missing {name} parameter")
