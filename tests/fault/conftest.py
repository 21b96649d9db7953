"""Campaigns against the real program. FEATHERLOCK_ROUNDS sets their length; the default is the short form."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
