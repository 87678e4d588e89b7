{{/* The template of a pod that runs a role. Arguments:
       root
       role         its values
       component    replay, learner, actor or reanalyse
       args         arguments of mallocmuzero, without --config
       port         of its RPC server; none: it has no server
       metricsPort
       tlsSecret    Secret of its certificate; empty: no TLS
       admin        whether it mounts the administrators' token
       data         the volume source of /data; none: a claim template has the name `data`
       programs     the volume source of /programs
       gpus, gpuResource
       rank         of a process of the learner
       restartPolicy
*/}}
{{- define "mallocmuzero.pod" -}}
{{- $security := .root.Values.security -}}
{{- $secrets := compact (list .tlsSecret $security.tokenSecret (ternary $security.adminTokenSecret "" .admin)) -}}
metadata:
  labels:
    {{- include "mallocmuzero.labels" . | nindent 4 }}
    {{- if hasKey . "rank" }}
    mallocmuzero/rank: {{ .rank | quote }}
    {{- end }}
  annotations:
    # Other settings need new processes. The number of actors concerns `mallocmuzero status` alone, and
    # `mallocmuzero shards` tells running processes that there is another number of shards.
    checksum/config: {{ regexReplaceAll "\\n  expected: [0-9]+" (include "mallocmuzero.configOf" (dict "root" .root "shards" 1)) "" | sha256sum }}
    {{- if and $security.tls.restartOnChange $secrets }}
    secret.reloader.stakater.com/reload: {{ join "," $secrets | quote }}
    {{- end }}
    {{- with .role.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "mallocmuzero.fullname" .root | quote }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ int .role.terminationGracePeriodSeconds }}
  {{- with .restartPolicy }}
  restartPolicy: {{ . }}
  {{- end }}
  {{- with .role.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- with .role.runtimeClassName }}
  runtimeClassName: {{ . | quote }}
  {{- end }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml .root.Values.podSecurityContext | nindent 4 }}
  containers:
    - name: {{ .component }}
      image: {{ include "mallocmuzero.image" (dict "root" .root "image" .role.image) | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args:
        {{- range concat .args (list "--config" "/etc/mallocmuzero/config/cluster.textproto") }}
        - {{ . | quote }}
        {{- end }}
        {{- if eq (default "text" .root.Values.logFormat) "json" }}
        - "--log-format"
        - "json"
        {{- end }}
      env:
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - {name: HOME, value: /tmp}
        {{- with .role.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        {{- with .port }}
        - {name: rpc, containerPort: {{ int . }}}
        {{- end }}
        - {name: metrics, containerPort: {{ int .metricsPort }}}
      # /healthz fails while a disk does not answer; the process recovers by itself if the disk does
      # so within a minute.
      livenessProbe:
        httpGet: {path: /healthz, port: metrics}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: metrics}
        periodSeconds: 5
        timeoutSeconds: 5
      resources:
        {{- include "mallocmuzero.resources" . | nindent 8 }}
      securityContext:
        {{- toYaml .root.Values.containerSecurityContext | nindent 8 }}
      volumeMounts:
        - {name: config, mountPath: /etc/mallocmuzero/config, readOnly: true}
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
        {{- if .programs }}
        - {name: programs, mountPath: /programs, readOnly: true}
        {{- end }}
        {{- with include "mallocmuzero.secretMounts" . | trim }}
        {{- . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap: {name: {{ include "mallocmuzero.fullname" .root | quote }}}
    - name: tmp
      emptyDir: {}
    {{- with .data }}
    - name: data
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .programs }}
    - name: programs
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with include "mallocmuzero.secretVolumes" . | trim }}
    {{- . | nindent 4 }}
    {{- end }}
  {{- with .role.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .role.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .role.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  # One lost node takes few processes of a role with it.
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "mallocmuzero.selector" . | nindent 10 }}
{{- end -}}

{{/* The resources of a role. A role with threads requests a CPU for each, unless it says otherwise.
     Arguments: role, gpus, gpuResource. */}}
{{- define "mallocmuzero.resources" -}}
{{- $resources := deepCopy (default dict .role.resources) -}}
{{- if .role.threads -}}
{{- $resources = merge $resources (dict "requests" (dict "cpu" (toString (int .role.threads)))) -}}
{{- end -}}
{{- if .gpus -}}
{{- $resources = merge $resources (dict "limits" (dict .gpuResource (int .gpus))) -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/* Secrets are mounted as folders and not as single files, because the kubelet replaces changed
     files only in folders. Arguments: root, tlsSecret, admin. */}}
{{- define "mallocmuzero.secretMounts" -}}
{{- if .tlsSecret }}
- {name: tls, mountPath: /etc/mallocmuzero/tls, readOnly: true}
{{- end }}
{{- if .root.Values.security.tokenSecret }}
- {name: token, mountPath: /etc/mallocmuzero/token, readOnly: true}
{{- end }}
{{- if and .admin .root.Values.security.adminTokenSecret }}
- {name: admin-token, mountPath: /etc/mallocmuzero/admin-token, readOnly: true}
{{- end }}
{{- end -}}

{{- define "mallocmuzero.secretVolumes" -}}
{{- with .tlsSecret }}
- name: tls
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- with .root.Values.security.tokenSecret }}
- name: token
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- if and .admin .root.Values.security.adminTokenSecret }}
- name: admin-token
  secret: {secretName: {{ .root.Values.security.adminTokenSecret | quote }}, defaultMode: 0440}
{{- end }}
{{- end -}}
