#!/bin/sh
# cfn-lint 1.58.0 (PyPI) knows VectorIndexes of AWS::DynamoDB::Table, but refuses the templates that have one
# with a search schema. CloudFormation's reference says of each attribute of a SearchSchema that it "must also
# be declared in the table's AttributeDefinitions". E3039 compares these with the key schemas of the table
# and of its secondary indexes alone, so what only a vector index searches by counts as a mismatch. A
# template that leaves the attribute out passes.
# Source: CloudFormation template reference, AWS::DynamoDB::Table SearchSchemaElement.
#
# Seen: E3039 with the attribute, nothing without it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check cfn-lint==1.58.0

template() {
	cat <<YAML
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    DeletionPolicy: Delete
    UpdateReplacePolicy: Delete
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - { AttributeName: id, AttributeType: S }
$1
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
      VectorIndexes:
        - IndexName: byMeaning
          VectorAttribute: { AttributeName: vector }
          SearchSchema: [{ AttributeName: tenant, SearchSchemaElementType: HASH }]
          Projection: { ProjectionType: KEYS_ONLY }
          Dimensions: 256
          DistanceFunction: COSINE
YAML
}

template "        - { AttributeName: tenant, AttributeType: S }" >declared.yaml
template "" >left_out.yaml
for one in declared left_out; do
	venv/bin/cfn-lint --regions us-east-1 --format parseable "$one.yaml" >"$one.txt" || true
	echo "$one: $(cut -d: -f7- "$one.txt" | tr '\n' ' ')"
done
grep -q ':E3039:' declared.txt || { echo "E3039 is not told of the declared attribute any more"; exit 1; }
[ ! -s left_out.txt ] || { echo "the template without the attribute does not pass any more"; exit 1; }
