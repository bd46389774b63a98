{{- /* The name of everything of the dataplane; that of the control plane is 14 characters longer, of at most 63. */ -}}
{{- define "switchyard.name" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- if gt (len $name) 49 }}{{ printf "%s-%s" (trunc 40 $name | trimSuffix "-") (sha256sum $name | trunc 8) }}{{ else }}{{ $name }}{{ end -}}
{{- end }}

{{- /* Labels that select pods. Takes a list: the root, and the name of the component. */ -}}
{{- define "switchyard.selector" -}}
app.kubernetes.io/name: switchyard
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "switchyard.labels" -}}
{{ include "switchyard.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end }}

{{- define "switchyard.image" -}}
{{ required "image.repository is missing: the registry and name that deploy/container/Containerfile was pushed to" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* Variables of both planes. Takes a list: the root, the values of the plane, and options that the plane's own may replace. */ -}}
{{- define "switchyard.options" -}}
{{- $root := index . 0 }}
{{- $plane := index . 1 }}
{{- $redis := $root.Values.redis }}
{{- if and $redis.bundled.enabled $plane.redis.username }}{{ fail "redis.username: the bundled Redis has no users; leave it empty" }}{{ end }}
{{- $options := dict "redis-password-file" "/etc/switchyard/redis/password" "redis-mode" $redis.mode }}
{{- if $redis.bundled.enabled }}
{{- $_ := set $options "redis-address" (printf "%s-redis" (include "switchyard.name" $root)) }}
{{- $_ := set $options "redis-mode" "plain-text" }}
{{- else }}
{{- if $redis.address }}{{ $_ := set $options "redis-address" $redis.address }}{{ end }}
{{- if $redis.port }}{{ $_ := set $options "redis-port" $redis.port }}{{ end }}
{{- if and $plane.redis.hasAuthority (ne $redis.mode "plain-text") }}{{ $_ := set $options "redis-tls-trust-bundle" "/etc/switchyard/redis/ca.crt" }}{{ end }}
{{- if eq $redis.mode "mtls" }}
{{- $_ := set $options "redis-tls-client-certificate" "/etc/switchyard/redis/tls.crt" }}
{{- $_ := set $options "redis-tls-client-private-key" "/etc/switchyard/redis/tls.key" }}
{{- end }}
{{- end }}
{{- if $plane.redis.username }}{{ $_ := set $options "redis-username" $plane.redis.username }}{{ end }}
{{- if $root.Values.keys.tokenPublicKey }}{{ $_ := set $options "token-verification-public-key" (printf "/etc/switchyard/keys/%s" $root.Values.keys.tokenPublicKey) }}{{ end }}
{{- if $root.Values.keys.secretsKey }}{{ $_ := set $options "secrets-key-file" (printf "/etc/switchyard/keys/%s" $root.Values.keys.secretsKey) }}{{ end }}
{{- if $plane.hosts }}{{ $_ := set $options "allowed-hosts" (join "," $plane.hosts) }}{{ end }}
{{- $all := mergeOverwrite (dict) $options (index . 2) $plane.options }}
{{- if not (or (hasKey $all "redis-address") (hasKey $all "redis-sentinels") (hasKey $all "redis-cluster")) }}
{{- fail "redis.address is missing: the host of a Redis that all pods share; or enable redis.bundled, or give the option redis-sentinels or redis-cluster to both planes" }}
{{- end }}
{{- range $name, $value := $all }}
SWITCHYARD_{{ $name | upper | replace "-" "_" }}: {{ (kindIs "float64" $value | ternary (int64 $value) $value) | toString | quote }}
{{- end }}
{{- end }}

{{- /* What pods of both planes have in common. Takes a list: the root, and the values of the plane. */ -}}
{{- define "switchyard.pod" -}}
{{- $root := index . 0 }}
{{- $plane := index . 1 }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- with $plane.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $plane.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
volumes:
  # For sockets between processes.
  - name: tmp
    emptyDir: { medium: Memory, sizeLimit: 64Mi }
  # 288 is 0440 in octal.
  - name: keys
    secret: { secretName: {{ $root.Values.keys.secret }}, defaultMode: 288 }
  - name: redis
    secret: { secretName: {{ $plane.redis.secret }}, defaultMode: 288 }
{{- end }}

{{- define "switchyard.container" -}}
{{- $root := index . 0 }}
{{- $plane := index . 1 }}
image: {{ include "switchyard.image" $root }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
resources: {{ toYaml $plane.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: tmp, mountPath: /tmp }
  - { name: keys, mountPath: /etc/switchyard/keys, readOnly: true }
  - { name: redis, mountPath: /etc/switchyard/redis, readOnly: true }
{{- end }}

{{- /* Takes a list: the root, the name of the component, its values, and the name and the port of its service. */ -}}
{{- define "switchyard.ingress" -}}
{{- $plane := index . 2 }}
{{- if $plane.ingress.enabled }}
{{- if not $plane.hosts }}{{ fail (printf "%s: an ingress needs hosts" (index . 1)) }}{{ end }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ index . 3 }}
  labels: {{ include "switchyard.labels" . | nindent 4 }}
  {{- with $plane.ingress.annotations }}
  annotations: {{ toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with $plane.ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with $plane.ingress.tlsSecret }}
  tls:
    - hosts: {{ toYaml $plane.hosts | nindent 8 }}
      secretName: {{ . }}
  {{- end }}
  rules:
    {{- $service := index . 3 }}
    {{- range $plane.hosts }}
    - host: {{ . }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: { service: { name: {{ $service }}, port: { name: http } } }
    {{- end }}
{{- end }}
{{- end }}
