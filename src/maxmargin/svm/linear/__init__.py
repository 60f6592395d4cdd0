"""Linear support vector machines: how their fits pose, solve, certify and publish."""
