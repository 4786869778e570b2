"""The only room with boto3: values to items and back, and one table."""
