"""Pages of money: parse, one call, render."""
