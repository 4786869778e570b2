"""The adapters beside other packages that keep sessions in DynamoDB."""
