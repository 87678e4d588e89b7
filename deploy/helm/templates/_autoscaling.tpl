{{/* The demand for actors, in PromQL. A shard's error is the number of draws ahead of inserts. At
     +errorBuffer the learner waits for games, at -errorBuffer actors wait for the learner. Mean over
     time and shards, plus 1: 2 demands more actors, 0 fewer, 1 as many. */}}
{{- define "mallocmuzero.demand" -}}
{{- $series := printf "mallocmuzero_replay_limiter_error_positions{namespace=%q,service=%q}"
    .Release.Namespace (printf "%s-replay" (include "mallocmuzero.fullname" .)) -}}
{{- printf "1 + avg(clamp(avg_over_time(%s[%s]) / %d, -1, 1))" $series
    .Values.actor.autoscaling.window (int64 .Values.replay.rateLimit.errorBuffer) -}}
{{- end -}}

{{/* How fast the number of actors changes. The argument is .Values.actor.autoscaling. */}}
{{- define "mallocmuzero.behavior" -}}
scaleUp:
  stabilizationWindowSeconds: 0
  selectPolicy: Max
  policies:
    - {type: Percent, value: {{ int .scaleUpPercent }}, periodSeconds: {{ int .scaleUpSeconds }}}
    # With few actors a share of them is less than one.
    - {type: Pods, value: 1, periodSeconds: {{ int .scaleUpSeconds }}}
scaleDown:
  stabilizationWindowSeconds: {{ int .scaleDownSeconds }}
  selectPolicy: Max
  policies:
    - {type: Percent, value: {{ int .scaleDownPercent }}, periodSeconds: {{ int .scaleDownSeconds }}}
    - {type: Pods, value: 1, periodSeconds: {{ int .scaleDownSeconds }}}
{{- end -}}
