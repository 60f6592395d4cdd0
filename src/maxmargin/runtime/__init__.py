"""What every fit needs around the mathematics: checked input, canonical rows, run control, threads, history."""
