"""Solve and certify the problems of a kernel fit: in one compiled batch, or one by one."""
