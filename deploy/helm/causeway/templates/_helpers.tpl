{{- define "causeway.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "causeway.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "causeway.labels" -}}
{{ include "causeway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "causeway.account" -}}
{{- default (ternary (include "causeway.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "causeway.certified" -}}
{{- if or .Values.admission.enabled .Values.audit.webhook.enabled }}yes{{ end -}}
{{- end -}}

{{- define "causeway.certificateSecret" -}}
{{- if eq .Values.certificate.source "secret" -}}
{{- required "certificate.secretName: name the Secret that holds the certificate, since certificate.source is secret" .Values.certificate.secretName -}}
{{- else -}}{{ default (printf "%s-webhook" (include "causeway.fullname" .)) .Values.certificate.secretName }}{{- end -}}
{{- end -}}

{{- /* The name by which the API server calls, which the certificate is for. */ -}}
{{- define "causeway.host" -}}{{ include "causeway.fullname" . }}.{{ .Release.Namespace }}.svc{{- end -}}

{{- /* Lays `over` over `base`, and changes `base`: as Helm merges values, false and 0 included. */ -}}
{{- define "causeway.lay" -}}
{{- range $key, $value := .over -}}
{{- if kindIs "invalid" $value -}}{{- $_ := unset $.base $key -}}
{{- else if and (kindIs "map" $value) (kindIs "map" (get $.base $key)) -}}
{{- include "causeway.lay" (dict "base" (get $.base $key) "over" $value) -}}
{{- else -}}{{- $_ := set $.base $key $value -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "causeway.config" -}}
{{- $base := include "causeway.defaultConfig" . | fromYaml -}}
{{- if $base.Error -}}{{- fail $base.Error -}}{{- end -}}
{{- include "causeway.lay" (dict "base" $base "over" .Values.config) -}}
{{- toYaml $base -}}
{{- end -}}

{{- define "causeway.defaultConfig" -}}
{{- $cluster := required "cluster: name the cluster that Causeway watches, as in --set cluster=production" .Values.cluster -}}
receivers:
  otlp:
    protocols:
      grpc: { endpoint: 0.0.0.0:4317 }
      http: { endpoint: 0.0.0.0:4318 }
  {{- if .Values.watch.enabled }}
  k8s_objects:
    cluster: {{ $cluster | quote }}
    {{- with .Values.watch.namespaces }}
    namespaces: {{ toJson . }}
    {{- end }}
    objects:
      {{- range concat (default list .Values.watch.objects) (default list .Values.watch.extraObjects) }}
      {{- if not (and $.Values.watch.namespaces (not .group) (has .name (list "namespaces" "nodes" "persistentvolumes"))) }}
      - {{ toJson . }}
      {{- end }}
      {{- end }}
  {{- end }}
  {{- if and .Values.watch.enabled .Values.watch.events }}
  k8s_events:
    cluster: {{ $cluster | quote }}
    {{- with .Values.watch.namespaces }}
    namespaces: {{ toJson . }}
    {{- end }}
  {{- end }}
  {{- if .Values.admission.enabled }}
  k8s_admission:
    cluster: {{ $cluster | quote }}
    endpoint: 0.0.0.0:9443
    tls: { cert_file: /etc/causeway-certificate/tls.crt, key_file: /etc/causeway-certificate/tls.key }
  {{- end }}
  {{- if or .Values.audit.file.enabled .Values.audit.webhook.enabled }}
  k8s_audit:
    cluster: {{ $cluster | quote }}
    {{- if .Values.audit.file.enabled }}
    log: { path: {{ .Values.audit.file.path | quote }} }
    {{- end }}
    {{- if .Values.audit.webhook.enabled }}
    webhook:
      endpoint: 0.0.0.0:9444
      tls: { cert_file: /etc/causeway-certificate/tls.crt, key_file: /etc/causeway-certificate/tls.key }
    {{- end }}
  {{- end }}
connectors:
  cpid:
    storage: { path: /var/lib/causeway/causeway.db }
    # Less than the volume has, which also holds the write-ahead log.
    retention: { max_bytes: {{ div (mul (trimSuffix "Gi" .Values.persistence.size | int) 8192) 10 }}MiB }
{{- with .Values.backend }}
{{- if .endpoint }}
exporters:
  otlp_grpc/backend: { endpoint: {{ .endpoint | quote }}, tls: {{ toJson .tls }} }
{{- end }}
{{- end }}
extensions:
  health_check: { endpoint: 0.0.0.0:13133 }
  cpid_query: { endpoint: 0.0.0.0:4319 }
service:
  extensions: [health_check, cpid_query]
  telemetry:
    logs: { encoding: json }
    metrics: { readers: [{ pull: { exporter: { prometheus: { host: 0.0.0.0, port: 8888 } } } }] }
  pipelines:
    traces/in:
      receivers:
        - otlp
        {{- if .Values.watch.enabled }}
        - k8s_objects
        {{- end }}
        {{- if .Values.admission.enabled }}
        - k8s_admission
        {{- end }}
        {{- if or .Values.audit.file.enabled .Values.audit.webhook.enabled }}
        - k8s_audit
        {{- end }}
      exporters: [cpid]
    logs/in: { receivers: [otlp{{ if and .Values.watch.enabled .Values.watch.events }}, k8s_events{{ end }}], exporters: [cpid] }
    {{- if .Values.backend.endpoint }}
    traces/out: { receivers: [cpid], exporters: [otlp_grpc/backend] }
    {{- end }}
{{- end -}}

{{- /* The ports of the configuration, by name. */ -}}
{{- define "causeway.ports" -}}
{{- $config := include "causeway.config" . | fromYaml -}}
{{- $ports := dict -}}
{{- $endpoints := dict
  "otlp-grpc" (dig "receivers" "otlp" "protocols" "grpc" "endpoint" "" $config)
  "otlp-http" (dig "receivers" "otlp" "protocols" "http" "endpoint" "" $config)
  "admission" (dig "receivers" "k8s_admission" "endpoint" "" $config)
  "audit" (dig "receivers" "k8s_audit" "webhook" "endpoint" "" $config)
  "query" (dig "extensions" "cpid_query" "endpoint" "" $config)
  "health" (dig "extensions" "health_check" "endpoint" "" $config) -}}
{{- range $name, $endpoint := $endpoints -}}
{{- with regexFind "[0-9]+$" (toString $endpoint) -}}{{- $_ := set $ports $name (int .) -}}{{- end -}}
{{- end -}}
{{- range (dig "service" "telemetry" "metrics" "readers" list $config) -}}
{{- with dig "pull" "exporter" "prometheus" "port" "" . -}}{{- $_ := set $ports "metrics" (int .) -}}{{- end -}}
{{- end -}}
{{- toYaml $ports -}}
{{- end -}}

{{- /* What the role allows: to list and watch what the configuration names, and nothing else. */ -}}
{{- define "causeway.rules" -}}
{{- $config := include "causeway.config" . | fromYaml -}}
{{- $groups := dict -}}
{{- range (dig "receivers" "k8s_objects" "objects" list $config) -}}
{{- $group := default "" .group -}}
{{- $_ := set $groups $group (append (default list (get $groups $group)) .name | uniq) -}}
{{- end -}}
{{- if dig "receivers" "k8s_events" false $config -}}
{{- $_ := set $groups "events.k8s.io" (append (default list (get $groups "events.k8s.io")) "events" | uniq) -}}
{{- end -}}
{{- range $group := keys $groups | sortAlpha }}
- apiGroups: [{{ $group | quote }}]
  resources: {{ toJson (get $groups $group) }}
  verbs: [list, watch]
{{- end -}}
{{- end -}}
