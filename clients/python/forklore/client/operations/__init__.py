"""Every operation of the service as a method. All but `calling.py` is generated."""
