import { formatYaml, plainValue, type YamlEntry } from "../../base/yaml/yaml.ts";
import { type MasterConfig, textsOf } from "./master-config.ts";
import type { Items } from "./report.ts";

/** Options that the import reads. */
const read = new Set([
  ...["file_roots", "pillar_roots", "nodegroups", "reactor", "schedule", "pki_dir", "cachedir", "root_dir"],
  ...["include", "default_include", "gitfs_remotes", "gitfs_base", "fileserver_backend", "conf_file"],
]);
/** Options of the program itself, such as its ports and logs: they have no meaning for another program. */
const ownBusiness =
  /^(?:user|id|interface|ipv6|publish_port|ret_port|worker_threads|timeout|keep_jobs|job_cache|gather_job_timeout|loop_interval|hash_type|verify_env|sock_dir|pidfile|extension_modules|con_cache|state_verbose|state_output|state_tabular|color|output|cli_summary|show_.*|log_.*|key_logfile|max_open_files|zmq_.*|tcp_.*|pub_hwm|ipc_.*|enable_.*|min_extra_mods|syslog.*|keysize|rotate_aes_key|ping_on_rotate|minion_data_cache.*|cache|fileserver_.*|file_buffer_size|file_ignore_.*|gitfs_update_interval|transport|master_id|syndic_.*|publish_session|sqlite_queue_dir|queue_dirs|event_publisher_niceness|.*_niceness|rest_timeout|max_event_size|presence_events|ping_interval|preserve_minion_cache|allow_minion_key_revoke|permissive_pki_access|sign_pub_messages|require_minion_sign_messages|drop_messages_signature_fail|ssl|maintenance_.*|netapi_.*|api_.*)$/;
/** What takes the place of options that operators rely on. */
const next: Readonly<Record<string, string>> = {
  external_auth: "Give operators roles, see docs/operators.md and docs/roles.md",
  publisher_acl: "Give operators roles, see docs/operators.md and docs/roles.md",
  publisher_acl_blacklist: "Give operators roles, see docs/roles.md",
  client_acl: "Give operators roles, see docs/operators.md and docs/roles.md",
  auto_accept: "Approve peels with svc enroll approve; see docs/joining.md",
  open_mode: "Approve peels with svc enroll approve; see docs/joining.md",
  autosign_file: "Approve peels with svc enroll approve; see docs/joining.md",
  autosign_grains_dir: "Approve peels with svc enroll approve; see docs/joining.md",
  ext_pillar: "Write the values in settings files, see docs/settings.md",
  git_pillar_base: "Check the repository out to settings_dir",
  pillar_source_merging_strategy:
    "Maps are merged at every level and lists are replaced, see docs/settings.md",
  pillar_merge_lists: "Lists are replaced, not joined: join them in one settings file",
  peer: "Peels cannot run functions on other peels",
  peer_run: "Peels cannot run functions on masters",
  order_masters: "All masters of a fleet are equal, see docs/clusters.md",
  master_tops: "Write the targets in top.sls",
  renderer: "Files are read as jinja|yaml",
  jinja_env: "Templates have the usual delimiters",
  jinja_sls_env: "Templates have the usual delimiters",
  state_top: "The top file is top.sls",
  failhard: "Set failhard: true on each state, or failhard=true on the run",
  rest_cherrypy: "Use the REST interface, see docs/rest.md",
  rest_tornado: "Use the REST interface, see docs/rest.md",
  ext_job_cache: "Read jobs with svc job show, or with REST",
  master_job_cache: "Read jobs with svc job show, or with REST",
  event_return: "Send events with a rule that calls a webhook, see docs/reactor.md",
  engines: "Send events with event.send, see docs/reactor.md",
  gitfs_saltenv_whitelist: "Name branches and tags in gitfs.environments and gitfs.tags",
  gitfs_saltenv_blacklist: "Name branches and tags in gitfs.environments and gitfs.tags",
  gitfs_ref_types: "Name branches and tags in gitfs.environments and gitfs.tags",
  gitfs_pubkey: "Set gitfs.ssh_key, see docs/publishing-states.md",
  gitfs_privkey: "Set gitfs.ssh_key, see docs/publishing-states.md",
};

/** Adds every option that has no effect on what is written. */
export function listOtherKeys(config: MasterConfig, items: Items): void {
  for (const [key, entry] of config.keys) {
    if (read.has(key) || ownBusiness.test(key)) continue;
    const what = Object.hasOwn(next, key) ? next[key] : undefined;
    items.add(
      "configuration",
      config.placeOf(entry),
      `the option ${key} is not taken over`,
      what ?? "Look for what takes its place in docs/configuration.md",
    );
  }
  const schedule = config.keys.get("schedule")?.value;
  for (const entry of schedule?.kind === "map" ? schedule.entries : []) {
    items.add(
      "schedule",
      config.placeOf(entry),
      `${entry.key} runs on the Salt master`,
      "Start it with a timer of the host that calls svc run, or write it under schedule in peel.yaml",
    );
  }
}

/** The part of the configuration of the masters that follows from the Salt master's. `""` when there is none. */
export function masterPart(config: MasterConfig, items: Items): string {
  const remotes = config.keys.get("gitfs_remotes");
  if (remotes === undefined) return "";
  const nodes = remotes.value.kind === "list" ? remotes.value.items : [];
  const urls = nodes.flatMap((node): string[] => {
    const place = config.placeOf(node);
    const options: readonly YamlEntry[] = node.kind === "map" ? node.entries : [];
    const [url = ""] = node.kind === "map" ? options.map(({ key }) => key) : textsOf(node);
    if (options.length > 0) {
      const names = (plainValue(options[0]?.value ?? node) as unknown[]) ?? [];
      const set = Array.isArray(names) ? names.flatMap((each) => Object.keys(each ?? {})).join(", ") : "";
      items.add(
        "states",
        place,
        `the options of ${shownUrl(url)} are not taken over: ${set}`,
        "See docs/publishing-states.md",
      );
    }
    if (/^(?:https:\/\/(?![^/]*@)|ssh:\/\/|file:\/\/)/.test(url)) return [url];
    items.add(
      "states",
      place,
      `${shownUrl(url)} is not a URL with https, ssh or file, and without credentials`,
      "Write it as ssh://git@host/path.git",
    );
    return [];
  });
  if (urls.length === 0) return "";
  const base = config.keys.get("gitfs_base")?.value;
  // Salt takes another branch than svc where none is configured.
  const [branch = "master"] = base === undefined ? [] : textsOf(base);
  return `# For the configuration of the masters, see docs/publishing-states.md. Other branches and tags are environments
# only if gitfs.environments and gitfs.tags name them.
${formatYaml({ gitfs: { base: branch, remotes: urls } })}`;
}

/** A URL may contain a password. */
function shownUrl(url: string): string {
  return url.replace(/\/\/[^/]*@/, "//***@").slice(0, 200);
}
