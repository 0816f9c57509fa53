"""Pages of jobs, queues and quota: parse, one call, render."""
