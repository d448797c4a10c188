{{/*
A Deployment of one process. Takes a dict:
  root      the context of the chart
  name      the name of the component, such as tables-orders
  args      the arguments of `headwater`
  replicas  the number of active pods; with `standby`, one more pod waits for the lease
  shared    true if several pods do the same work at the same time, so that a new one need not wait for an old one
  resources the resources, if they differ from those of all
  port      the port of the probes
*/}}
{{- define "headwater.deployment" -}}
{{- $root := .root -}}
{{- $component := .name -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "headwater.name" $root }}-{{ $component }}
  labels:
    {{- include "headwater.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
spec:
  replicas: {{ if .standby }}2{{ else }}{{ .replicas }}{{ end }}
  {{- if .shared }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  {{- else }}
  # A new pod is not ready before it has the lease, which the old one holds until it ends.
  strategy:
    type: Recreate
  {{- end }}
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      {{- include "headwater.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $component }}
  template:
    metadata:
      labels:
        {{- include "headwater.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ $component }}
        {{- with $root.Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        # A process reads its configuration once: a change has to start it again.
        checksum/config: {{ toYaml $root.Values.config | sha256sum }}
        {{- with $root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- include "headwater.pod" (dict "root" $root "component" $component) | nindent 6 }}
      {{- if or .standby (and .shared (gt (int .replicas) 1)) }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "headwater.selector" $root | nindent 14 }}
              app.kubernetes.io/component: {{ $component }}
      {{- end }}
      containers:
        - name: headwater
          {{- include "headwater.container" (dict "root" $root "args" .args "resources" .resources) | nindent 10 }}
          ports:
            - name: {{ .portName | default "metrics" }}
              containerPort: {{ .port }}
          {{- $port := .portName | default "metrics" }}
          startupProbe:
            httpGet:
              path: /healthz
              port: {{ $port }}
            {{- toYaml $root.Values.probes.startup | nindent 12 }}
          livenessProbe:
            httpGet:
              path: /healthz
              port: {{ $port }}
            {{- toYaml $root.Values.probes.liveness | nindent 12 }}
          readinessProbe:
            httpGet:
              {{- /* A standby is never ready, and an update would wait for it. */}}
              path: {{ if .standby }}/healthz{{ else }}/readyz{{ end }}
              port: {{ $port }}
            {{- toYaml $root.Values.probes.readiness | nindent 12 }}
{{- end -}}

{{/* What all pods have in common, except containers. */}}
{{- define "headwater.pod" -}}
{{- $root := .root -}}
serviceAccountName: {{ include "headwater.serviceAccount" $root }}
# headwater never calls the API of Kubernetes.
automountServiceAccountToken: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
terminationGracePeriodSeconds: {{ add $root.Values.stopTimeoutSeconds $root.Values.stopMarginSeconds }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: config
    configMap:
      name: {{ include "headwater.configMap" $root }}
  - name: tmp
    emptyDir:
      sizeLimit: {{ $root.Values.temporaryFiles.sizeLimit }}
{{- end -}}

{{/* What all containers have in common, except name, ports and probes. */}}
{{- define "headwater.container" -}}
{{- $root := .root -}}
image: {{ include "headwater.image" $root | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
args:
  {{- range .args }}
  - {{ . | quote }}
  {{- end }}
env:
  - name: HEADWATER_CONFIG
    value: /etc/headwater/headwater.yaml
  - name: HEADWATER__STOP_TIMEOUT
    value: {{ $root.Values.stopTimeoutSeconds | quote }}
  - name: HEADWATER__OBSERVABILITY__LISTEN
    value: {{ printf "%s:%d" $root.Values.metricsHost (int $root.Values.metricsPort) | quote }}
  {{- with $root.Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $root.Values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
resources:
  {{- toYaml (.resources | default $root.Values.resources) | nindent 2 }}
volumeMounts:
  - name: config
    mountPath: /etc/headwater
    readOnly: true
  - name: tmp
    mountPath: /tmp
{{- end -}}
