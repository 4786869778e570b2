"""The checks of reliability at their full figures: run one after another, and put into one table."""
