"""Run the checks of docs/reliability.md at their full figures, and put the results into one table."""
