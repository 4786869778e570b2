"""What building, deploying, restoring and their tests need besides AWS SAM.

`built_for`, `release`, `samconfig` and `deploy` run in SAM's own environment, which has no
forklore, and so do the modules that they import. The other modules run where the tests do.
"""
