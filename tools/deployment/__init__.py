"""What building, deploying and its tests need besides AWS SAM.

`built_for` and `samconfig` run in SAM's own environment, which has no forklore. The other modules
run where the tests do.
"""
