"""Packages: all of `pinnsig/`, and `problems/` as `pinnsig.problems`; the rest is in pyproject."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["pinnsig", "pinnsig.*"]), "pinnsig.problems"])
