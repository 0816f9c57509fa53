"""What billing does; one use case a file. Money is written through `billing.ledger` only."""
