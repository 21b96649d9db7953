"""The parts of differential.py: what is asked, how it travels, what is remembered, compared and reported."""
