"""Fitted functions: kernel expansions, and how several binary decisions become one label."""
