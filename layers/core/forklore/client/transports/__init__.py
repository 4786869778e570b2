"""What carries calls: HTTP, a Lambda function that is invoked, and the service in this process."""
