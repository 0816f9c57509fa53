"""What scheduling does for people and for billing; one use case a file. Writes live here, state changes in transitions."""
