"""Support vector machines with any kernel: how their fits pose, solve, certify and publish."""
