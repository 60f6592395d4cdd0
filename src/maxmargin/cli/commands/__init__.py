"""The commands of ``maxmargin``, one file each with a click command named ``command``."""
