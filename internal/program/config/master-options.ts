import { isIP } from "node:net";
import { logFormats, logLevels } from "../../base/log.ts";
import { listOf } from "./list.ts";
import { Complaint, inDataDir, inDirectoryOf, type OptionTable, option } from "./option.ts";
import { address, bool, duration, integer, oneOf, path, requiredPath } from "./scalar.ts";
import { apiTokens } from "./tokens.ts";
import { advertiseUrls, busUrl } from "./url.ts";

const minute = 60_000;
const hour = 60 * minute;
const dnsName =
  /^(?:\*\.)?[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

const sans = listOf({
  name: "DNS names and IP addresses",
  placeholder: "<name>",
  read: (name) => {
    if (isIP(name) !== 0 || (dnsName.test(name) && name.length <= 253)) return name;
    throw new Complaint(`${JSON.stringify(name.slice(0, 60))} is neither a DNS name nor an IP address`);
  },
});

const gitRemotes = listOf({
  name: "Git URLs",
  placeholder: "<url>",
  read: (url) => {
    // Git would parse it as an option.
    if (url.startsWith("-")) throw new Complaint("a Git URL may not start with a hyphen");
    // They would be visible in the process list.
    if (/:\/\/[^/]*:[^/@]*@/.test(url) || /^https?:\/\/[^/]*@/i.test(url)) {
      throw new Complaint("a Git URL may not hold credentials; use SSH with gitfs.ssh_key");
    }
    return url;
  },
});

/** Every key of the master daemon (specification, "Master configuration"). */
export const masterOptions = {
  bus_url: option({
    group: "Bus",
    type: busUrl,
    default: "tls://bus:4222",
    doc: "URL of the message bus; only tls:// is accepted",
  }),
  bus_ca: option({
    group: "Bus",
    type: path,
    default: "",
    doc: "CA file that verifies the bus server; empty means BUS_CA_FILE, then <data>/auth/bus-ca.crt, then the host's trust store",
    variable: "BUS_CA_FILE",
  }),
  bus_tls_cert: option({
    group: "Bus",
    type: path,
    default: "",
    doc: "client certificate for the bus, together with bus_tls_key",
  }),
  bus_tls_key: option({ group: "Bus", type: path, default: "", doc: "private key of bus_tls_cert" }),
  bus_advertise_urls: option({
    group: "Bus",
    type: advertiseUrls,
    default: [],
    doc: "bus URLs handed to peels; an empty list turns discovery off; no loopback or link-local hosts",
  }),
  storage_replicas: option({
    group: "Bus",
    type: integer(0, 5),
    default: 0,
    doc: "replicas of every bucket, stream and object store; 0 means min(3, cluster size)",
  }),
  embedded_bus: option({
    group: "Bus",
    type: bool,
    default: false,
    doc: "run a nats-server as a child process of this master, and restart it when it exits",
  }),
  embedded_bus_dir: option({
    group: "Bus",
    type: requiredPath,
    default: inDataDir("bus"),
    doc: "directory of the embedded bus and its nats-server.conf",
  }),
  embedded_bus_only: option({
    group: "Bus",
    type: bool,
    default: false,
    doc: "run only the embedded bus, without a master: for backups, and for a server that only adds a cluster member",
  }),
  embedded_bus_path: option({
    group: "Bus",
    type: path,
    default: "",
    doc: "path of the nats-server to run, 2.9.10 or newer; empty means the one inside this executable, then the one on the PATH",
  }),
  auth_dir: option({
    group: "Files",
    type: requiredPath,
    default: inDataDir("auth"),
    doc: "directory that holds master.creds and account.seed",
  }),
  decisions_log: option({
    group: "Files",
    type: requiredPath,
    default: inDataDir("decisions.log"),
    doc: "log of enrollments and revocations on this host, from which lost ones are put back on the bus; each master needs its own",
  }),
  states_dir: option({
    group: "Files",
    type: requiredPath,
    default: inDataDir("states"),
    doc: "directory of state files",
  }),
  settings_dir: option({
    group: "Files",
    type: requiredPath,
    default: inDataDir("settings"),
    doc: "directory of settings files and of nodegroups.yaml, the node groups for targets",
  }),
  health_addr: option({
    group: "Health and logs",
    type: address,
    default: { host: "127.0.0.1", port: 9091 },
    doc: "address of /healthz, /readyz and /metrics",
  }),
  log_level: option({
    group: "Health and logs",
    type: oneOf(logLevels),
    default: "info",
    doc: "minimum level to log",
  }),
  log_format: option({
    group: "Health and logs",
    type: oneOf(logFormats),
    default: "json",
    doc: "format of log records",
  }),
  "enroll.addr": option({
    group: "HTTPS listener",
    type: address,
    default: { host: "", port: 8443 },
    doc: "address of the HTTPS listener",
  }),
  "enroll.tls_cert": option({
    group: "HTTPS listener",
    type: requiredPath,
    default: inDataDir("auth/enroll.crt"),
    doc: "certificate of the HTTPS listener; unused with an embedded CA",
  }),
  "enroll.tls_key": option({
    group: "HTTPS listener",
    type: requiredPath,
    default: inDataDir("auth/enroll.key"),
    doc: "private key of enroll.tls_cert; unused with an embedded CA",
  }),
  "api.docs_enabled": option({
    group: "HTTPS listener",
    type: bool,
    default: false,
    doc: "serve interactive docs and the API description without authentication",
    flag: "api-docs",
  }),
  "api.tokens": option({
    group: "HTTPS listener",
    type: apiTokens,
    default: [],
    doc: "operators of the REST API: username, and token_file with the bearer token, read on every request",
    flag: null,
  }),
  "ca.mode": option({
    group: "Certificate authority",
    type: oneOf(["auto", "embedded", "external"]),
    default: "auto",
    doc: "auto means embedded when <ca.dir>/root.crt exists, else external",
  }),
  "ca.dir": option({
    group: "Certificate authority",
    type: requiredPath,
    default: inDirectoryOf("auth_dir", "ca"),
    doc: "directory of the embedded CA",
  }),
  "ca.enroll_cert_validity": option({
    group: "Certificate authority",
    type: duration(1_000),
    default: 2160 * hour,
    doc: "validity of the certificate the embedded CA issues for the HTTPS listener",
  }),
  "ca.enroll_sans": option({
    group: "Certificate authority",
    type: sans,
    default: [],
    doc: "additional DNS names and IP addresses in that certificate, besides the host name and localhost",
  }),
  "gitfs.remotes": option({
    group: "GitFS",
    type: gitRemotes,
    default: [],
    doc: "Git repositories to take state files from; an empty list turns GitFS off",
  }),
  "gitfs.interval": option({
    group: "GitFS",
    type: duration(1_000),
    default: 5 * minute,
    doc: "interval between pulls",
  }),
  "gitfs.ssh_key": option({
    group: "GitFS",
    type: path,
    default: "",
    doc: "SSH private key for the repositories",
  }),
  "reactor.enabled": option({
    group: "Reactor",
    type: bool,
    default: true,
    doc: "run the reactor",
    flag: "reactor",
  }),
  "reactor.dir": option({
    group: "Reactor",
    type: requiredPath,
    default: inDataDir("reactor"),
    doc: "directory of rule files",
  }),
  "reactor.workers": option({
    group: "Reactor",
    type: integer(1, 1024),
    default: 4,
    doc: "number of reactions that run at the same time",
  }),
  "reactor.max_chain_depth": option({
    group: "Reactor",
    type: integer(0, 100),
    default: 3,
    doc: "maximum length of a chain of reactions; events beyond it are dropped",
  }),
  "reactor.enable_chaining": option({
    group: "Reactor",
    type: bool,
    default: true,
    doc: "let reactions emit events of their own",
  }),
  "reactor.default_throttle": option({
    group: "Reactor",
    type: duration(0),
    default: 0,
    doc: "minimum time before a rule fires again for the same source; 0 means none",
  }),
  "reactor.source_rate_limit": option({
    group: "Reactor",
    type: integer(0, 1_000_000),
    default: 120,
    doc: "maximum events per minute from one source; 0 means no limit",
  }),
  "reactor.max_event_age": option({
    group: "Reactor",
    type: duration(0),
    default: hour,
    doc: "maximum age of an event; older events are dropped when read; 0 replays all",
  }),
  "reactor.storm_rate": option({
    group: "Reactor",
    type: integer(0, 1_000_000),
    default: 60,
    doc: "maximum times per minute that a rule may fire; more open its circuit breaker; 0 means no breaker",
  }),
  "reactor.breaker_cooldown": option({
    group: "Reactor",
    type: duration(0),
    default: 5 * minute,
    doc: "how long an open circuit breaker stays open",
  }),
} satisfies OptionTable;
