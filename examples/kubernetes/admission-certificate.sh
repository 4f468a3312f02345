#!/bin/sh
# The certificate of Causeway's admission webhook where there is no cert-manager: made here, good for ten years, kept in the Secret
# causeway-admission, and written into the webhook's configuration, by which the API server trusts it. Run it again for a new one.
# Needs openssl and kubectl, and causeway.yaml and admission.yaml applied; a Causeway that runs takes the new one by itself.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
  -subj /CN=causeway.causeway.svc -addext subjectAltName=DNS:causeway.causeway.svc \
  -keyout "$folder/tls.key" -out "$folder/tls.crt" 2>/dev/null
kubectl create secret tls causeway-admission --namespace causeway \
  --cert "$folder/tls.crt" --key "$folder/tls.key" --dry-run=client --output yaml | kubectl apply --filename -
authority=$(base64 <"$folder/tls.crt" | tr -d '\n')
kubectl patch validatingwebhookconfiguration causeway --type json --patch \
  "[{\"op\":\"add\",\"path\":\"/webhooks/0/clientConfig/caBundle\",\"value\":\"$authority\"}]"
