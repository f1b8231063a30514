"""Many small cases in one test: setting up and reporting a test takes longer than most of them."""

import functools
import inspect


def for_each(name, values):
    """Like `pytest.mark.parametrize`, but one test: all values are tried, and a failure says for which of them."""
    values = list(values)

    def fold(test):
        @functools.wraps(test)
        def tries_all(*args, **kwargs):
            failures = []
            for value in values:
                try:
                    test(*args, **kwargs, **{name: value})
                except Exception as failure:
                    failure.add_note(f"{name}: {getattr(value, 'id', value)}")
                    failures.append(failure)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(values)} values of {name} fail", failures)

        signature = inspect.signature(test)
        others = [parameter for parameter in signature.parameters.values() if parameter.name != name]
        tries_all.__signature__ = signature.replace(parameters=others)
        return tries_all

    return fold
