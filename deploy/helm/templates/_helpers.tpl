{{/* The names of objects begin with this. With a role, an ordinal and the suffix of a pod they stay
     below the 63 characters of a DNS label. */}}
{{- define "mallocmuzero.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 36 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 36 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 36 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Arguments: root, component. These labels never change, because selectors use them. Names have quotes,
     because YAML takes some, such as 42 and on, for something else than a text. */}}
{{- define "mallocmuzero.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{/* Arguments: root, component. */}}
{{- define "mallocmuzero.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{ include "mallocmuzero.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end -}}

{{/* Arguments: root, image (fields that replace those of .Values.image). A digest belongs to one image, so
     another repository or tag comes without it. */}}
{{- define "mallocmuzero.image" -}}
{{- $own := default dict .image -}}
{{- $of := .root.Values.image -}}
{{- if or $own.repository $own.tag -}}{{- $of = omit $of "digest" -}}{{- end -}}
{{- $image := merge (deepCopy $own) $of -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .root.Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Arguments: root, host (of a pod), component (of its Service). */}}
{{- define "mallocmuzero.host" -}}
{{- printf "%s.%s-%s.%s.svc.%s" .host (include "mallocmuzero.fullname" .root) .component
    .root.Release.Namespace .root.Values.clusterDomain -}}
{{- end -}}

{{/* The name of shard .index, which is also the name of its pod. */}}
{{- define "mallocmuzero.shard" -}}
{{- printf "%s-replay-%d" (include "mallocmuzero.fullname" .root) (int .index) -}}
{{- end -}}

{{/* The host name of the pod of process 0 of the learner. */}}
{{- define "mallocmuzero.learnerHost" -}}
{{- $name := include "mallocmuzero.fullname" . -}}
{{- $pod := ternary (printf "%s-learner-rank-0-0-0" $name) (printf "%s-learner-0-0" $name)
    (eq .Values.learner.kind "JobSet") -}}
{{- include "mallocmuzero.host" (dict "root" . "host" $pod "component" "learner") -}}
{{- end -}}

{{/* The Secret with the certificate of clients; empty: no TLS. */}}
{{- define "mallocmuzero.clientSecret" -}}
{{- with .Values.security.tls -}}
{{- if .serverSecret -}}{{ default .serverSecret .clientSecret }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* The least number of actors. */}}
{{- define "mallocmuzero.actors" -}}
{{- ternary .Values.actor.autoscaling.minReplicas .Values.actor.replicas
    .Values.actor.autoscaling.enabled -}}
{{- end -}}

{{/* Refuses values that the schema cannot refuse. */}}
{{- define "mallocmuzero.check" -}}
{{- $name := include "mallocmuzero.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "fullnameOverride: the names of Services would begin with '%s'; lower-case letters, digits and hyphens expected, a letter first" $name) -}}
{{- end -}}
{{- $security := .Values.security -}}
{{- $token := and $security.tokenSecret $security.allowClearTextToken -}}
{{- if not (or $security.tls.serverSecret $token $security.allowInsecureNetwork) -}}
{{- fail "security: set tls.serverSecret, or tokenSecret with allowClearTextToken, or allowInsecureNetwork if the network is closed otherwise" -}}
{{- end -}}
{{- if and $security.tls.clientSecret (not $security.tls.serverSecret) -}}
{{- fail "security.tls: serverSecret expected, because without it there is no TLS and clientSecret is not used" -}}
{{- end -}}
{{- if and $security.tls.certManager.enabled (not (and $security.tls.serverSecret $security.tls.clientSecret $security.tls.certManager.issuerRef.name)) -}}
{{- fail "security.tls.certManager: serverSecret, clientSecret and issuerRef.name expected" -}}
{{- end -}}
{{- if ne (len (default dict .Values.learner.programs)) 1 -}}
{{- fail "learner.programs: one volume source expected, such as {configMap: {name: programs}}" -}}
{{- end -}}
{{- /* The devices are counted as the pod counts them. A process that is to take the second one has none. */ -}}
{{- if and .Values.learner.gpus (regexMatch "(?m)^[ \\t]*devices\\b" (default "" .Values.learner.config)) -}}
{{- fail "learner.config: no devices expected, because each process has a pod of its own with one GPU" -}}
{{- end -}}
{{- range $role := list "learner" "actor" "reanalyse" -}}
{{- with (index $.Values $role).image -}}
{{- if and $.Values.image.digest .repository (not (or .digest .tag)) -}}
{{- fail (printf "%s.image: a digest or a tag expected, because image.digest is that of another repository" $role) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.actor.autoscaling.enabled (gt (int .Values.actor.autoscaling.minReplicas) (int .Values.actor.autoscaling.maxReplicas)) -}}
{{- fail "actor.autoscaling: minReplicas is above maxReplicas" -}}
{{- end -}}
{{- end -}}
