"""What a user can get wrong. Caught once, in the command line: one line, exit code 2."""


class UserError(Exception):
    """A mistake that the user can put right: the message says what, where and what to do."""


class ConfigError(UserError):
    """A setting that does not exist or cannot have the value it was given."""


class ModelError(UserError):
    """A model directory that cannot be used as it is."""


class InputError(UserError):
    """Input that cannot be processed as it is."""
