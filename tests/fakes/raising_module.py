"""A module whose import raises what is no ImportError."""

msg = "1 / 0"
raise ZeroDivisionError(msg)
