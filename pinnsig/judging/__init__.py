"""Judging."""
