"""Vector code: the only folder that knows vector instructions."""
