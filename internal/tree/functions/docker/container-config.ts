import { quote } from "../../../base/cut.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { StateFailure } from "../../function/mod.ts";
import { parseSize } from "../size.ts";
import type { Json } from "./engine.ts";
import { mapOf, portsOf, restartPolicy, textsOf, ulimitsOf, wordsOf } from "./translate.ts";

/** What a container is created with, as Salt's states name it. */
export const containerArgs = {
  command: arg.any(
    "Command, as a list or a text that is split like a command line; that of the image by default.",
  ),
  entrypoint: arg.any("Entry point, in the same way."),
  environment: arg.any("Variables, as a map or a list. Their values are not shown."),
  env: arg.any("The same as environment."),
  hostname: arg.any("Host name."),
  domainname: arg.any("Domain name."),
  user: arg.any("User in the container."),
  working_dir: arg.any("Working directory."),
  labels: arg.any("Labels, as a map or a list."),
  ports: arg.any("Ports to expose, such as 80 or 53/udp."),
  port_bindings: arg.any("Ports to publish, such as 8080:80, 127.0.0.1:8080:80/tcp or 8000-8009:80-89."),
  publish: arg.any("The same as port_bindings."),
  publish_all_ports: arg.any("Publishes every exposed port; false by default."),
  binds: arg.any("Directories and volumes of the host, such as /srv/www:/www:ro."),
  volumes: arg.any("Directories with a volume of their own, or directories of the host as in binds."),
  volumes_from: arg.any("Containers whose volumes are used."),
  volume_driver: arg.any("Driver of volumes."),
  tmpfs: arg.any("Directories in memory."),
  restart_policy: arg.any("Policy: no, always, unless-stopped or on-failure:5."),
  restart: arg.any("The same as restart_policy."),
  network_mode: arg.any("Network: bridge, host, none, or the name of a network."),
  networks: arg.any(
    "Networks to be in, in addition, as names, or as maps with aliases, links, ipv4_address and ipv6_address.",
  ),
  links: arg.any("Links to other containers, such as db:database."),
  extra_hosts: arg.any("Lines of /etc/hosts, such as db:10.0.0.2."),
  dns: arg.any("Name servers."),
  dns_search: arg.any("Search domains."),
  privileged: arg.any("Whether the container may do everything on the host; false by default."),
  cap_add: arg.any("Capabilities to add."),
  cap_drop: arg.any("Capabilities to drop."),
  group_add: arg.any("Groups that the user is in, in addition."),
  devices: arg.any("Devices, such as /dev/sdb:/dev/sdb:r."),
  security_opt: arg.any("Security options."),
  read_only: arg.any("Whether the file system is read-only; false by default."),
  memory: arg.any("Memory, such as 512m."),
  mem_limit: arg.any("The same as memory."),
  cpu_shares: arg.any("Share of the processors."),
  cpuset_cpus: arg.any("Processors to use, such as 0-2,4."),
  ulimits: arg.any("Limits of processes, such as nofile=1024:2048."),
  shm_size: arg.any("Size of /dev/shm."),
  log_driver: arg.any("Driver of logs."),
  log_opt: arg.any("Options of this driver."),
  ipc_mode: arg.any("Name space of System V objects."),
  pid_mode: arg.any("Name space of processes."),
  stop_signal: arg.any("Signal that stops the container."),
  stop_timeout: arg.any("Seconds until it is killed."),
  tty: arg.any("Whether it has a terminal; false by default."),
  interactive: arg.any("Whether its standard input stays open; false by default."),
  stdin_open: arg.any("The same as interactive."),
  init: arg.any("Whether an init process runs in it."),
  sysctls: arg.any("Kernel parameters."),
} as const satisfies Readonly<Record<string, ArgSpec>>;

type Given = Readonly<Record<string, Plain | undefined>>;

/** What is given, by the names of Salt. */
interface Fields {
  /** The first of these that is given. */
  get(...names: string[]): Plain | undefined;
  /** A field of Docker from the first of these that is given; nothing without one. */
  from<T extends Plain>(names: readonly string[], key: string, read: (value: Plain, name: string) => T): Json;
}

function fieldsOf(given: Given): Fields {
  const args = new Map(Object.entries(given).filter(([, value]) => value !== undefined && value !== null));
  const get: Fields["get"] = (...names) =>
    names.map((name) => args.get(name)).find((value) => value !== undefined);
  return {
    get,
    from(names, key, read) {
      const [name = ""] = names;
      const value = get(...names);
      return value === undefined ? {} : { [key]: read(value, name) };
    },
  };
}

const text = (value: Plain) => String(value);
const list = (value: Plain, name: string) => textsOf(name, value);
const map = (value: Plain, name: string) => mapOf(name, value);
const words = (value: Plain, name: string) => wordsOf(name, value);
// 0 means without a limit.
const size = (value: Plain, name: string) => (Number(value) === 0 ? 0 : parseSize(name, value, "b"));

function flag(value: Plain, name: string): boolean {
  if (typeof value === "boolean") return value;
  throw new StateFailure(`${name}: expected true or false`);
}

function number(value: Plain, name: string): number {
  const read = Number(value);
  if (Number.isSafeInteger(read)) return read;
  throw new StateFailure(`${name}: expected a number`);
}

/** The body of `POST /containers/create`, with what is wanted in particular. @throws StateFailure */
export function containerBody(image: string, given: Given): { [key: string]: Plain } {
  const fields = fieldsOf(given);
  const { get } = fields;
  const published = get("port_bindings", "publish");
  const ports = published === undefined ? undefined : portsOf(published);
  const exposed = { ...exposedPorts(textsOf("ports", get("ports") ?? [])), ...ports?.exposed };
  const volumes = textsOf("volumes", get("volumes") ?? []);
  const isBind = (each: string) => each.includes(":");
  const own = volumes.filter((each) => !isBind(each));
  const binds = [...textsOf("binds", get("binds") ?? []), ...volumes.filter(isBind)];
  const hostConfig: Json = {
    ...(ports === undefined ? {} : { PortBindings: ports.bindings }),
    ...(binds.length === 0 ? {} : { Binds: binds }),
    ...hostFields(fields),
  };
  return {
    Image: image,
    ...ownFields(fields),
    ...(Object.keys(exposed).length === 0 && ports === undefined ? {} : { ExposedPorts: exposed }),
    ...(own.length === 0 ? {} : { Volumes: Object.fromEntries(own.map((path) => [path, {}])) }),
    ...(Object.keys(hostConfig).length === 0 ? {} : { HostConfig: hostConfig }),
  };
}

/** What a container is, wherever it runs. */
const ownFields = ({ from }: Fields): Json => ({
  ...from(["command"], "Cmd", words),
  ...from(["entrypoint"], "Entrypoint", words),
  ...from(["environment", "env"], "Env", (value, name) =>
    Object.entries(mapOf(name, value)).map(([key, each]) => `${key}=${each}`),
  ),
  ...from(["hostname"], "Hostname", text),
  ...from(["domainname"], "Domainname", text),
  ...from(["user"], "User", text),
  ...from(["working_dir"], "WorkingDir", text),
  ...from(["labels"], "Labels", map),
  ...from(["stop_signal"], "StopSignal", text),
  ...from(["stop_timeout"], "StopTimeout", number),
  ...from(["tty"], "Tty", flag),
  ...from(["interactive", "stdin_open"], "OpenStdin", flag),
});

/** What a container has of its host. */
const hostFields = ({ get, from }: Fields): Json => ({
  ...from(["publish_all_ports"], "PublishAllPorts", flag),
  ...from(["volumes_from"], "VolumesFrom", list),
  ...from(["volume_driver"], "VolumeDriver", text),
  ...from(["tmpfs"], "Tmpfs", (value) => mapOf("tmpfs", value)),
  ...from(["restart_policy", "restart"], "RestartPolicy", (value) => ({ ...restartPolicy(value) })),
  ...from(["network_mode"], "NetworkMode", text),
  // Without a colon the other container keeps its name.
  ...from(["links"], "Links", (value, name) =>
    list(value, name).map((each) => (each.includes(":") ? each : `${each}:${each}`)),
  ),
  ...from(["extra_hosts"], "ExtraHosts", list),
  ...from(["dns"], "Dns", list),
  ...from(["dns_search"], "DnsSearch", list),
  ...from(["privileged"], "Privileged", flag),
  ...from(["cap_add"], "CapAdd", list),
  ...from(["cap_drop"], "CapDrop", list),
  ...from(["group_add"], "GroupAdd", list),
  ...from(["devices"], "Devices", (value) => list(value, "devices").map(deviceOf)),
  ...from(["security_opt"], "SecurityOpt", list),
  ...from(["read_only"], "ReadonlyRootfs", flag),
  ...from(["memory", "mem_limit"], "Memory", size),
  ...from(["cpu_shares"], "CpuShares", number),
  ...from(["cpuset_cpus"], "CpusetCpus", text),
  ...from(["ulimits"], "Ulimits", ulimitsOf),
  ...from(["shm_size"], "ShmSize", size),
  ...from(["ipc_mode"], "IpcMode", text),
  ...from(["pid_mode"], "PidMode", text),
  ...from(["init"], "Init", flag),
  ...from(["sysctls"], "Sysctls", map),
  ...(get("log_driver") === undefined && get("log_opt") === undefined
    ? {}
    : { LogConfig: { ...from(["log_driver"], "Type", text), ...from(["log_opt"], "Config", map) } }),
});

function exposedPorts(ports: readonly string[]): Json {
  return Object.fromEntries(
    ports.map((port) => {
      if (!/^\d{1,5}(?:\/(?:tcp|udp|sctp))?$/.test(port)) {
        throw new StateFailure(`ports: ${quote(port, 40)} is not a port`);
      }
      return [port.includes("/") ? port : `${port}/tcp`, {}];
    }),
  );
}

function deviceOf(written: string): Json {
  const [host = "", inside = host, permissions = "rwm"] = written.split(":");
  return { PathOnHost: host, PathInContainer: inside, CgroupPermissions: permissions };
}
