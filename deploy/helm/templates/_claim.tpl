{{/* The spec of a claim. The argument has size, storageClassName and accessModes. */}}
{{- define "mallocmuzero.claim" -}}
accessModes:
  {{- toYaml .accessModes | nindent 2 }}
{{- with .storageClassName }}
storageClassName: {{ . | quote }}
{{- end }}
resources:
  requests: {storage: {{ .size }}}
{{- end -}}
