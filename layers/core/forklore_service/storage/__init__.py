"""The only room with botocore: values to items and back, and one table."""
