{{/* The ClusterConfig of all roles. */}}
{{- define "mallocmuzero.config" -}}
{{- include "mallocmuzero.configOf" (dict "root" . "shards" (int .Values.replay.shards)) -}}
{{- end -}}

{{/* The same for another number of shards. Arguments: root, shards. */}}
{{- define "mallocmuzero.configOf" -}}
{{- $shards := .shards -}}
{{- $root := .root -}}
{{- $any := default "0.0.0.0" .root.Values.listenHost -}}
{{- with .root -}}
{{- include "mallocmuzero.check" . -}}
{{- $security := .Values.security -}}
# Made by the chart mallocmuzero {{ .Chart.Version }}. All pods of the release read this file.
security {
{{- if $security.tls.serverSecret }}
  ca_file: "/etc/mallocmuzero/tls/ca.crt"
  certificate_file: "/etc/mallocmuzero/tls/tls.crt"
  key_file: "/etc/mallocmuzero/tls/tls.key"
{{- end }}
{{- if $security.tokenSecret }}
  token_file: "/etc/mallocmuzero/token/token"
{{- end }}
{{- if $security.adminTokenSecret }}
  admin_token_file: "/etc/mallocmuzero/admin-token/token"
{{- end }}
{{- if $security.allowClearTextToken }}
  allow_clear_text_token: true
{{- end }}
{{- if or $security.allowInsecureNetwork $security.tls.serverSecret }}
  # Metrics have no TLS. Calls still use it if the files above are given.
  allow_insecure_network: true
{{- end }}
}
{{- range $index := until $shards }}
{{- $name := include "mallocmuzero.shard" (dict "root" $root "index" $index) }}
{{- $host := include "mallocmuzero.host" (dict "root" $root "host" $name "component" "replay") }}
{{- with $root.Values.replay }}
replay {
  name: {{ $name | quote }}
  address: "{{ $host }}:{{ int .port }}"
  listen_address: "{{ $any }}:{{ int .port }}"
  metrics_address: "{{ $any }}:{{ int .metricsPort }}"
  data_dir: "/data/{{ $name }}"
  rate_limit {
    samples_per_insert: {{ .rateLimit.samplesPerInsert }}
    min_positions: {{ int64 .rateLimit.minPositions }}
    error_buffer: {{ int64 .rateLimit.errorBuffer }}
  }
  {{- with .config }}
{{ . | trim | indent 2 }}
  {{- end }}
}
{{- end }}
{{- end }}
{{- with .Values.learner }}
learner {
  address: "{{ include "mallocmuzero.learnerHost" $root }}:{{ int .port }}"
  listen_address: "{{ $any }}:{{ int .port }}"
  metrics_address: "{{ $any }}:{{ int .metricsPort }}"
  run_dir: "/data/run"
  workloads: "/programs"
  processes: {{ int .processes }}
  {{- if gt (int .processes) 1 }}
  rendezvous_address: "{{ include "mallocmuzero.learnerHost" $root }}:{{ int .rendezvousPort }}"
  {{- end }}
  {{- with .config }}
{{ . | trim | indent 2 }}
  {{- end }}
}
{{- end }}
{{- with .Values.actor }}
actor {
  expected: {{ include "mallocmuzero.actors" $root }}
  threads: {{ int .threads }}
  metrics_address: "{{ $any }}:{{ int .metricsPort }}"
  spool_dir: "/data/spool"
  {{- if .gpus }}
  device: "cuda"
  {{- end }}
  {{- with .config }}
{{ . | trim | indent 2 }}
  {{- end }}
}
{{- end }}
{{- with .Values.reanalyse }}
reanalyse {
  threads: {{ int .threads }}
  metrics_address: "{{ $any }}:{{ int .metricsPort }}"
  {{- if .gpus }}
  device: "cuda"
  {{- end }}
  {{- with .config }}
{{ . | trim | indent 2 }}
  {{- end }}
}
{{- end }}
{{- end -}}
{{- end -}}
