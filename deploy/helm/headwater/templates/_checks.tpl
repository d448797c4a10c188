{{/* Rejects values that headwater would reject, before anything is installed. */}}
{{- define "headwater.check" -}}
{{- if and (not .Values.config) (not .Values.existingConfigMap) -}}
{{- fail "set config to the content of headwater.yaml, or existingConfigMap to a ConfigMap with it" -}}
{{- end -}}
{{- if and .Values.config .Values.existingConfigMap -}}
{{- fail "set either config or existingConfigMap" -}}
{{- end -}}
{{- if and .Values.config .Values.split (not .Values.config.lock) -}}
{{- fail "several processes need a lock: set config.lock, such as {provider: storage}, or set split to false" -}}
{{- end -}}
{{- if .Values.config -}}
{{- $known := keys (.Values.config.tables | default dict) -}}
{{- range .Values.tables -}}
{{- range .tables -}}
{{- if not (has . $known) -}}
{{- fail (printf "tables: %s is not a table of config.tables" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range .Values.services.tables -}}
{{- if not (has . $known) -}}
{{- fail (printf "services.tables: %s is not a table of config.tables" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
