#!/bin/bash
# Runs one role of the cluster on this node, and restarts its process when it ends:
#   role.sh replay                 shard number SLURM_PROCID
#   role.sh learner                process number SLURM_PROCID of the learner
#   role.sh actor                  actor number SLURM_ARRAY_TASK_ID
#   role.sh rescue SHARD FOLDER    saves a shard's data from the disk of this node
#
# SIGTERM or SIGUSR1 stops the role: its process ends in order, and what only this node has is copied
# to the shared folder. Exit codes: 0 the role was stopped; 2 its configuration has a mistake; 3 there
# is nothing to rescue; 4 the shared folder does not take it. "The folders" in docs/slurm.md lists the
# files in the shared folder.

set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly role=$1
readonly poll_seconds=1 run_lock_seconds=120
readonly srun_tries=30 srun_retry_seconds=10
readonly node=${SLURMD_NODENAME:-$(hostname)}
trap 'tell_job "$role" $?' EXIT
scratch=$(local_folder) || exit 2  # it has a variable that nothing sets
readonly scratch
# The launch cannot know the values of variables.
[[ $scratch == /* ]] || { say "local_dir is '${scratch%/*}' on $node; a path from / expected"; exit 2; }

# "limit" once the time limit is near, "asked" after another request to stop.
stopping=
child= assembled= written= has_data=  # has_data is 1 once the shard's newest data are at $data
trap 'stopping=limit' USR1
trap 'stopping=${stopping:-asked}' TERM
# The log ends if the node with the batch script is lost. Data must be saved nevertheless.
trap '' PIPE

# Waits for the process $1, and ends it if the role is to stop.
await_child() {
  child=$1
  while kill -0 "$child" 2>/dev/null; do
    [ -z "$stopping" ] || kill "$child" 2>/dev/null
    sleep "$poll_seconds" & wait $!
  done
  wait "$child"
}

# ---- Addresses and the configuration ----

publish() { write_file "$shared/addresses/$1" "$2"; }

# Chooses a port for a role that others call, and announces its address.
announce() {
  [ -n "$first_port" ] || return 0
  address=$host:$(free_port "$first_port")
  publish "$address_key" "$address"
}

# Sets $assembled to the configuration with all addresses. Fails if something is $missing.
assemble() {
  local text file key
  missing="a file of the launch"
  text=$(<"$shared/launch/cluster.textproto.in") || return 1
  for key in "${shards[@]}" learner ${rendezvous_port:+rendezvous}; do
    file="$shared/addresses/$key"
    [ -s "$file" ] || { missing="the address of $key"; return 1; }
    text=${text//"%address:$key%"/"$(<"$file")"}
  done
  text=${text//"%metrics:$metrics_key%"/"${metrics_address:-}"}
  text=${text//"%host%"/"$host"}
  text=${text//"%local%"/"$scratch"}
  text=${text//"%spool%"/"$spool"}
  # A role needs no metrics addresses of others.
  while [[ $text =~ %metrics:[A-Za-z0-9-]+% ]]; do text=${text//"${BASH_REMATCH[0]}"/}; done
  assembled=$text
}

write_config() {
  missing="room in $shared/configs"
  printf '%s\n' "$assembled" >"$config.new" && mv -f "$config.new" "$config" && written=$assembled
}

# Chooses ports, announces the addresses, and waits until the configuration is complete.
configure() {
  local port missing labels job=$cluster
  # The alerts and dashboards look at jobs whose names begin so, and take each for a cluster.
  [[ $job == mallocmuzero* ]] || job=mallocmuzero-$job
  know_host
  metrics_address=
  if [ -n "$metrics_port" ]; then
    port=$(free_port $((metrics_port + number)))
    # The process adds its number to the port.
    metrics_address=%host%:$((port - number))
    labels="\"job\": \"$job\", \"role\": \"$label\""
    target="[{\"targets\": [\"$host:$port\"], \"labels\": {$labels}}]"
    write_file "$shared/targets/$name.json" "$target"
  fi
  announce
  if [ "$name" = learner ] && [ -n "$rendezvous_port" ]; then
    publish rendezvous "$host:$(free_port "$rendezvous_port")"
  fi
  until assemble && write_config; do
    [ -z "$stopping" ] || return 1
    [ "$missing" = "${said:-}" ] || say "$name: waits for $missing"
    said=$missing
    sleep "$poll_seconds" & wait $!
  done
  [ "$name" != learner ] || write_file "$shared/cluster.textproto" "$(<"$config")"
}

# Ends what configure announced to Prometheus, which would take a stopped process for one that is away.
withdraw_target() {
  local file="$shared/targets/$name.json"
  # A process that has replaced this one has another target.
  [ -z "$target" ] || [ "$(cat "$file" 2>/dev/null)" != "$target" ] || rm -f "$file"
}

# Whether another role has announced a new address, so that the process needs another configuration.
# Every role asks this once a second, so it writes nothing to the shared folder.
config_has_changed() {
  local missing
  [ "$role" != replay ] && assemble && [ "$assembled" != "$written" ]
}

# Whether another process has announced itself under the address of this role: Slurm has started the
# role again elsewhere, because it lost this node.
is_replaced() {
  local text
  [ -n "$first_port" ] && text=$(cat "$shared/addresses/$address_key" 2>/dev/null) &&
    [ -n "$text" ] && [ "$text" != "$address" ]
}

# ---- A shard's data ----

# Copies the folder $2 as the newest copy of the shard $1. The copy counts once it is complete.
save_copy() {
  local state="$shared/shards/$1" name old
  name=data.$(date +%s).$node.$$
  if ! { cp -r "$2" "$state/$name.tmp" && mv "$state/$name.tmp" "$state/$name" &&
    write_file "$state/copy" "$name"; }; then
    # A part would take the room that the next copy needs.
    rm -rf "$state/$name.tmp"
    [ "$(cat "$state/copy" 2>/dev/null)" = "$name" ] || rm -rf "$state/$name"
    return 1
  fi
  for old in "$state"/data.*; do
    [ "$old" = "$state/$name" ] || rm -rf "$old"
  done
}

# Moves the data of the shard $1 from the folder $2 of this node to the shared folder.
bring_home() {
  [ -d "$2" ] || return 3
  save_copy "$1" "$2" || return 4
  write_file "$shared/shards/$1/home" "copy $(<"$shared/shards/$1/copy")" || return 4
  rm -rf "$2"
}

# Runs `role.sh rescue` on the node $2, if it is another one as soon as Slurm has the node again.
fetch_from_node() {
  local from=$2 command=("$shared/launch/role.sh" rescue "$1" "$3")
  local code tries=0 end=$((SECONDS + lost_node_seconds))
  if [ "$from" = "$node" ]; then
    "${command[@]}" &
    await_child $!
    return
  fi
  say "$1: its data are on the disk of $from; waits up to $lost_node_seconds s for that node"
  while :; do
    # The job that is asked for must not be a step of this one, so it gets none of Slurm's variables.
    env -i PATH="$PATH" HOME="${HOME:-/}" ${SLURM_CONF:+SLURM_CONF="$SLURM_CONF"} \
      timeout "$((end - SECONDS))" srun "${rescue_options[@]}" --job-name="$cluster-rescue" \
      --nodelist="$from" --ntasks=1 --chdir=/ "${command[@]}" &
    await_child $!
    code=$?
    # Other codes are those of srun, for example while Slurm's controller is away, or of timeout.
    case "$code" in 0 | 3 | 4) return "$code" ;; esac
    [ -z "$stopping" ] && ((++tries < srun_tries && SECONDS + 2 * srun_retry_seconds < end)) ||
      return "$code"
    say "$1: srun ended with code $code; asks for $from again in $srun_retry_seconds s"
    sleep "$srun_retry_seconds" &
    await_child $!
  done
}

# Brings the newest data of the shard to $data.
restore_shard() {
  local home kind place folder code
  mkdir -p "$shared/shards/$name" "$(dirname "$data")"
  exec 9>"$data.lock"
  flock --timeout 60 9 || { say "$name: another process has $data.lock"; return 1; }
  home=$(cat "$shared/shards/$name/home" 2>/dev/null)
  read -r kind place folder <<<"$home"
  # The local folder may be another one than before, such as that of the job.
  if [ "$kind" = node ] && { [ "$place" != "$node" ] ||
    { [ "$folder" != "$data" ] && ! [ "$folder" -ef "$data" ]; }; }; then
    fetch_from_node "$name" "$place" "$folder"
    code=$?
    [ -z "$stopping" ] || return 1
    [ "$code" != 4 ] || { say "$name: $shared does not take its data from $place"; return 1; }
    [ "$code" = 0 ] || say "$name: cannot read the disk of $place; games since the last copy are lost"
    kind=copy
  fi
  if [ "$kind" = node ] && [ -d "$data" ]; then
    say "$name: continues with its data on this node"
  else
    [ "$kind" != node ] || say "$name: $data is gone; games since the last copy are lost"
    rm -rf "$data" "$data.tmp"
    folder=$(cat "$shared/shards/$name/copy" 2>/dev/null)
    if [ -n "$folder" ]; then
      say "$name: takes its data from $shared/shards/$name/$folder"
      cp -r "$shared/shards/$name/$folder" "$data.tmp" && mv "$data.tmp" "$data" || return 1
    fi
  fi
  write_file "$shared/shards/$name/home" "node $node $data" && has_data=1
}

# Copies the running shard from a consistent copy that it makes of its data. Only one such copy may be
# made at a time, because save_copy removes all others.
copy_running_shard() {
  local printed copy
  printed=$("${mallocmuzero[@]}" replay --config "$config" --shard "$name" --checkpoint) || return 1
  copy=${printed#"$name: "}
  printf '%s\n' "$copy" >"$data.copy"  # for drain: Slurm's signals may end this function
  save_copy "$name" "$copy"
  rm -rf "$copy" "$data.copy"
}

# ---- The process ----

# Waits until no other process holds the lock of the run. One that Slurm has replaced because it lost
# its node may live on there. It ends once it sees the address of this one, but saves the run first.
await_run() {
  local lock="$run_dir/lock"
  if [ ! -e "$lock" ] || flock --nonblock "$lock" true; then return; fi
  say "$name: another process trains in $run_dir; waits up to $run_lock_seconds s for its end"
  flock --timeout "$run_lock_seconds" "$lock" true &
  await_child $! || true  # the learner itself says who holds a lock that is not free by now
}

prepare() {
  case "$role" in
    learner) [ "$index" != 0 ] || await_run ;;
    replay) [ "$shards_are_local" = 0 ] || { make_local_folder "$scratch" && restore_shard; } ;;
    actor)
      make_local_folder "$scratch" || return 1
      mkdir -p "$spool"
      if [ -z "$(ls -A "$spool")" ] && [ -d "$shared/spool/$index" ]; then
        # All of it or nothing.
        rm -rf "$spool.tmp"
        cp -r "$shared/spool/$index" "$spool.tmp" && rmdir "$spool" && mv "$spool.tmp" "$spool" &&
          rm -rf "$shared/spool/$index"
      fi
      ;;
  esac
}

# Saves what only this node has.
drain() {
  case "$role" in
    replay)
      # A process that has replaced this one fetches the data itself.
      if [ -z "$has_data" ] || is_replaced; then return 0; fi
      bring_home "$name" "$data" || return 1
      [ ! -s "$data.copy" ] || rm -rf "$(<"$data.copy")" "$data.copy"
      say "$name: its data are in $shared/shards/$name"
      ;;
    actor)
      local files=("$spool"/*.spool)
      if [ ${#files[@]} -gt 0 ]; then
        # Games from another node, which this role has not taken because it found others here.
        [ ! -e "$shared/spool/$index" ] || return 1
        rm -rf "$shared/spool/$index.tmp"
        cp -r "$spool" "$shared/spool/$index.tmp" &&
          mv "$shared/spool/$index.tmp" "$shared/spool/$index" || return 1
      fi
      rm -rf "$spool"
      ;;
  esac
}

# Runs the process once; returns its exit code. Ends it if the role stops, needs another
# configuration, or is replaced; $told is then "stop", "address" or "replaced".
run_process() {
  local copied=$SECONDS copier=
  told=
  "${mallocmuzero[@]}" "${arguments[@]}" --config "$config" &
  child=$!
  while kill -0 "$child" 2>/dev/null; do
    if [ -z "$told" ]; then
      if [ -n "$stopping" ]; then
        told=stop
      elif is_replaced; then
        told=replaced
      elif config_has_changed; then
        told=address
      fi
      [ -z "$told" ] || kill -TERM "$child"
    fi
    if [ "$role" = replay ] && [ "$copy_seconds" -gt 0 ] && [ -z "$told" ] &&
      [ "$shards_are_local" = 1 ] && [ $((SECONDS - copied)) -ge "$copy_seconds" ] &&
      ! { [ -n "$copier" ] && kill -0 "$copier" 2>/dev/null; }; then
      copied=$SECONDS
      copy_running_shard & copier=$!
    fi
    sleep "$poll_seconds" & wait $!
  done
  # A signal interrupts `wait`. The copy must end before drain makes another one.
  while [ -n "$copier" ] && kill -0 "$copier" 2>/dev/null; do wait "$copier"; done
  wait "$child"
}

run_until_stopped() {
  local code begin mistakes=0 pause=1
  while [ -z "$stopping" ]; do
    configure || break
    begin=$SECONDS
    run_process
    code=$?
    [ -z "$stopping" ] || break
    case "$told" in
      replaced) say "$name: runs elsewhere; ends here"; break ;;
      address) say "$name: another role has a new address"; continue ;;
    esac
    # A file system that fails for a moment looks like a mistake.
    if [ "$code" = 2 ]; then mistakes=$((mistakes + 1)) pause=10; else mistakes=0; fi
    [ "$mistakes" -lt 3 ] || return 2
    if [ $((SECONDS - begin)) -ge 30 ]; then pause=1; fi
    say "$name: ended with code $code; starts again in $pause s"
    sleep "$pause" & wait $!
    pause=$((pause * 2 > 10 ? 10 : pause * 2))
  done
  return 0
}

# Ends the role for the reason $1. Its job queues itself again.
cannot_begin() {
  say "$name: $1"
  [ "$role" != actor ] || requeue
  exit 1
}

# Sets the facts of the role: its name, arguments, address and ports.
describe_role() {
  index=${SLURM_PROCID:-0}
  number=$index  # of the process, in its metrics port
  first_port= address= address_key= target= label=$role
  case "$role" in
    replay)
      name=${shards[index]}
      data="$scratch/shards/$name"
      arguments=(replay --shard "$name")
      first_port=${shard_ports[index]}
      metrics_port=${shard_metrics_ports[index]}
      number=0  # each shard has a metrics port of its own
      address_key=$name
      metrics_key=$name
      ;;
    learner)
      name=learner
      [ "$index" = 0 ] || name=learner.$index
      arguments=(learner --rank "$index")
      [ "$index" != 0 ] || first_port=$learner_port
      metrics_port=$learner_metrics_port
      address_key=learner
      metrics_key=learner
      ;;
    actor)
      index=$SLURM_ARRAY_TASK_ID
      number=$index
      name=actor.$number
      arguments=(actor --index "$number")
      metrics_port=$actor_metrics_port
      metrics_key=actor
      if [ "$index" -ge "$actors" ]; then
        number=$((index - actors))
        name=reanalyse.$number
        arguments=(actor --index "$number" --reanalyse)
        metrics_port=$reanalyse_metrics_port
        metrics_key=reanalyse
        label=reanalyse
      fi
      ;;
  esac
  spool="$scratch/spool.$index"  # the configuration of every role names one
  config="$shared/configs/$name.textproto"
}

if [ "$role" = rescue ]; then
  # The disk has been lost, or its folder has ended with the job.
  [ -d "${3%/*}" ] && is_own_folder "${3%/*}" || exit 3
  exec 9>"$3.lock"
  # A process of the lost job may still run until Slurm has ended it.
  flock --timeout 60 9 || exit 4
  bring_home "$2" "$3"
  exit
fi

describe_role
# Lines of a site may use variables that nothing sets, as those of /etc/profile do.
set +u; set_up; set -u
say "$name: job ${SLURM_JOB_ID:-none} on $node, restart ${SLURM_RESTART_COUNT:-0}," \
  "GPUs ${CUDA_VISIBLE_DEVICES:-none}"
know_host || cannot_begin "host_command prints no name of $node"
announce  # an earlier process of this role sees that it is replaced before its data are taken
code=0
if prepare; then
  run_until_stopped
  code=$?
elif [ -z "$stopping" ]; then
  cannot_begin "cannot begin on $node"
fi
withdraw_target
# Slurm sends further signals while the data are being saved.
trap '' TERM USR1
drain || say "$name: its data stay on the disk of $node"
say "$name: stopped"
trap - TERM USR1
if [ "$role" = actor ] && [ "$code" = 0 ]; then
  [ "$stopping" = limit ] && [ "$goes_on_after_limit" = 0 ] || requeue
fi
exit "$code"
