import { isIP } from "node:net";
import { mebibyte } from "../../base/byte-size.ts";
import { quote } from "../../base/cut.ts";
import { parseIpNetwork } from "../../base/names/ip-network.ts";
import { gitBranch, gitGlobs, gitRemotes } from "./git.ts";
import { listOf } from "./list.ts";
import { logOptions } from "./log-options.ts";
import { namedNetworks } from "./networks.ts";
import { oidcProviders } from "./oidc.ts";
import { inDataDir, inDirectoryOf, inGroup, type OptionTable, option } from "./option.ts";
import { otlpOptions } from "./otlp.ts";
import {
  address,
  autoOrBool,
  bool,
  byteSize,
  duration,
  integer,
  oneOf,
  path,
  requiredPath,
} from "./scalar.ts";
import { siteOptions } from "./site.ts";
import { apiTokens } from "./tokens.ts";
import { advertiseUrls, busUrl, httpsUrls } from "./url.ts";

const minute = 60_000;
const hour = 60 * minute;
const dnsName =
  /^(?:\*\.)?[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

const sans = listOf({
  name: "DNS names and IP addresses",
  placeholder: "<name>",
  item: (name) =>
    isIP(name) !== 0 || (dnsName.test(name) && name.length <= 253)
      ? undefined
      : `${quote(name, 60)} is neither a DNS name nor an IP address`,
});

const webhookHosts = listOf({
  name: "host names, IP addresses and CIDR ranges",
  placeholder: "<host>",
  item: (entry) => {
    const isHost = dnsName.test(entry) && !entry.startsWith("*") && entry.length <= 253;
    // An address with a digit too many must not count as a name.
    return parseIpNetwork(entry) !== undefined || (isHost && /[A-Za-z]/.test(entry))
      ? undefined
      : `${quote(entry, 60)} is neither a host name nor an IP address nor a CIDR range: expected hooks.example.com, 127.0.0.1 or 169.254.0.0/16, where bits beyond the length are zero`;
  },
});

/** Every key of the master daemon (specification, "Master configuration"). */
export const masterOptions = {
  ...inGroup("Bus", {
    bus_url: option(busUrl, "tls://bus:4222", "URL of the message bus; only tls:// is accepted"),
    bus_ca: option(
      path,
      "",
      "CA file that verifies the bus server; empty means BUS_CA_FILE, then <data>/auth/bus-ca.crt, then the host's trust store",
      { variable: "BUS_CA_FILE" },
    ),
    bus_tls_cert: option(path, "", "client certificate for the bus, together with bus_tls_key"),
    bus_tls_key: option(path, "", "private key of bus_tls_cert"),
    bus_advertise_urls: option(
      advertiseUrls,
      [],
      "bus URLs handed to peels; an empty list turns discovery off; no loopback or link-local hosts",
    ),
    storage_replicas: option(
      integer(0, 5),
      0,
      "replicas of every bucket, stream and object store; 0 means min(3, cluster size); more than one needs nats-server 2.10.27 or newer on every server",
    ),
    storage_create: option(
      bool,
      true,
      "create what is stored on a bus that has nothing of this fleet; false on a host that joins a fleet: its master then waits for that storage",
    ),
    "jobs.max_bytes": option(
      byteSize(mebibyte),
      0,
      "size of the stream job-events, which holds what peels send back for jobs; empty means 8GiB or half of what the bus server offers, whichever is less",
    ),
    "audit.retention": option(
      duration(24 * 3600_000),
      400 * 24 * 3600_000,
      "how long the entries of the audit are kept; the same on all masters",
    ),
    embedded_bus: option(
      bool,
      false,
      "run a nats-server as a child process of this master, and restart it when it exits",
    ),
    embedded_bus_dir: option(
      requiredPath,
      inDataDir("bus"),
      "directory of the embedded bus and its nats-server.conf",
    ),
    embedded_bus_only: option(
      bool,
      false,
      "run only the embedded bus, without a master: for backups, and for a server that only adds a cluster member",
    ),
    embedded_bus_path: option(
      path,
      "",
      "path of the nats-server to run, 2.9.10 or newer, and 2.10.27 or newer in a cluster; empty means the one inside this executable, then the one on the PATH",
    ),
  }),
  ...siteOptions,
  ...inGroup("Files", {
    auth_dir: option(requiredPath, inDataDir("auth"), "directory that holds master.creds and account.seed"),
    decisions_log: option(
      requiredPath,
      inDataDir("decisions.log"),
      "log of enrollments, revocations, releases and operators on this host, from which lost ones are put back on the bus; each master needs its own",
    ),
    states_dir: option(requiredPath, inDataDir("states"), "directory of state files"),
    "states.check": option(
      oneOf(["syntax", "compile", "off"]),
      "syntax",
      "what is checked before state and settings files come into force; with a problem, the last good files stay: syntax reads every file as for all hosts, compile also compiles them for one peel of each kind",
    ),
    "states.salt_compat": option(
      oneOf(["strict", "salt", "bridge"]),
      "strict",
      "how that check reads state files, whatever peels say of theirs: unknown state functions are problems only with strict",
    ),
    "states.require_release": option(
      bool,
      false,
      "let only state files come into force that an operator released with svc states release; the same on all masters",
    ),
    settings_dir: option(
      requiredPath,
      inDataDir("settings"),
      "directory of settings files and of nodegroups.yaml, the node groups for targets",
    ),
    "settings.strict_facts": option(
      bool,
      false,
      "refuse settings that are chosen by facts: G@ and P@ in top.sls, and facts in conditions of templates",
    ),
    roles_file: option(
      requiredPath,
      inDataDir("roles.yaml"),
      "file of roles for operators; without one there are only the built-in roles",
    ),
  }),
  ...inGroup("Health and logs", {
    health_addr: option(
      address,
      { host: "127.0.0.1", port: 9091 },
      "address of /healthz, /readyz and /metrics; while another program listens there, health is off",
    ),
  }),
  ...logOptions,
  ...otlpOptions,
  ...inGroup("HTTPS listener", {
    "enroll.addr": option(address, { host: "", port: 8443 }, "address of the HTTPS listener"),
    "enroll.tls_cert": option(
      requiredPath,
      inDataDir("auth/enroll.crt"),
      "certificate of the HTTPS listener; unused with an embedded CA",
    ),
    "enroll.tls_key": option(
      requiredPath,
      inDataDir("auth/enroll.key"),
      "private key of enroll.tls_cert; unused with an embedded CA",
    ),
    "enroll.max_pending": option(
      integer(1, 1_000_000),
      10_000,
      "maximum number of pending enrollments; beyond it new peels are asked to come later",
    ),
    "enroll.pending_ttl": option(
      duration(1_000),
      720 * hour,
      "how long an enrollment may be pending; older ones are removed",
    ),
    "enroll.creds_validity": option(
      duration(60_000, 87_600 * hour),
      4_320 * hour,
      "how long the bus credentials of peels last; peels renew them at about two thirds of it",
    ),
    "enroll.recovery_window": option(
      duration(0),
      8_760 * hour,
      "how long after the end of its credentials a peel may recover new ones; 0 turns recovery off",
    ),
    "enroll.on_clone": option(
      oneOf(["alert", "revoke"]),
      "alert",
      "what is done when two hosts appear to hold one identity: mark and report it, or also revoke it",
    ),
    "enroll.networks": option(
      namedNetworks,
      [],
      "networks whose addresses share one budget for enrollment, by name: cidr is a list, capacity the requests at once, refill the time until one more, connections (optional) how many connections to the listener they may have together, instead of 128 for each address",
      { flag: null },
    ),
    "enroll.advertise_urls": option(
      httpsUrls,
      [],
      "base URLs of the masters for other hosts, which join tokens tell; empty means https://<host name>:<port> of this master",
    ),
    "enroll.evidence.x509_ca": option(
      path,
      "",
      "certificates in PEM of the authorities whose host certificates are accepted as evidence; empty means not accepted",
    ),
    "enroll.evidence.x509_names": option(
      oneOf(["peel", "any"]),
      "peel",
      "peel accepts only host certificates that name the ID of the peel; any accepts all names, and the record shows them",
    ),
    "enroll.evidence.ssh_known_hosts": option(
      path,
      "",
      "known_hosts file with the SSH host keys and authorities that are accepted as evidence; empty means not accepted",
    ),
    "enroll.evidence.tpm_ca": option(
      path,
      "",
      "certificates in PEM of the makers of TPMs whose endorsement certificates are accepted as evidence; empty means not accepted",
    ),
    "enroll.policy": option(
      requiredPath,
      inDataDir("enroll-policy.yaml"),
      "file of rules that decide about hosts that ask to join; without one operators decide; each master has its own",
    ),
    "enroll.policy_webhook_allow": option(
      webhookHosts,
      [],
      "hosts, addresses and ranges that webhooks of this policy may call although they are loopback, link-local, metadata or multicast addresses",
    ),
    "api.docs_enabled": option(
      bool,
      false,
      "serve interactive docs and the API description without authentication",
      { flag: "api-docs" },
    ),
    "console.enabled": option(
      autoOrBool,
      "auto",
      "serve the console at /console/; auto means while someone can have a token: api.tokens, svc token create, or api.oidc",
      { flag: "console" },
    ),
  }),
  ...inGroup("Operators", {
    "operators.require_signed": option(
      bool,
      false,
      "refuse requests of operators over the bus that are not signed with the key of a registered operator",
    ),
    "approvals.ttl": option(
      duration(60_000, 7 * 24 * 3600_000),
      24 * 3600_000,
      "how long a request waits for the agreement of other operators, at most 7 days",
    ),
  }),
  ...inGroup("HTTPS listener", {
    "api.tokens": option(
      apiTokens,
      [],
      "operators of the REST API: username, token_file with the bearer token, read on every request, roles ([admin] when absent), and expires (RFC 3339)",
      { flag: null },
    ),
    "api.oidc": option(
      oidcProviders,
      [],
      "identity providers whose tokens the REST API accepts: issuer, audience, role_claims (claim, value, role), username_claim (email, or sub, when absent), ca_file; for sign-in to the console client_id (the audience when absent) and scope (openid email profile when absent)",
      { flag: null },
    ),
    "api.oidc_keys_dir": option(
      requiredPath,
      inDataDir("oidc"),
      "directory for the public keys of these providers, for a start while they are down",
    ),
  }),
  ...inGroup("Certificate authority", {
    "ca.mode": option(
      oneOf(["auto", "embedded", "external"]),
      "auto",
      "auto means embedded when <ca.dir>/root.crt exists, else external",
    ),
    "ca.dir": option(requiredPath, inDirectoryOf("auth_dir", "ca"), "directory of the embedded CA"),
    "ca.enroll_cert_validity": option(
      duration(1_000),
      2160 * hour,
      "validity of the certificate the embedded CA issues for the HTTPS listener",
    ),
    "ca.enroll_sans": option(
      sans,
      [],
      "additional DNS names and IP addresses in that certificate, besides the host name and localhost",
    ),
  }),
  ...inGroup("GitFS", {
    "gitfs.remotes": option(
      gitRemotes,
      [],
      "Git repositories to take state files from: a URL, or a map of url, base, environments, tags (in place of the keys below) and signers (a file of allowed signers); an empty list turns GitFS off",
    ),
    "gitfs.base": option(
      gitBranch,
      "main",
      "branch that is the environment base; no other branch ever replaces it",
    ),
    "gitfs.environments": option(
      gitGlobs,
      [],
      "patterns of the names of other branches that are environments; * also matches a slash",
    ),
    "gitfs.tags": option(gitGlobs, [], "patterns of the names of tags that are environments"),
    "gitfs.interval": option(duration(1_000), 5 * minute, "interval between pulls"),
    "gitfs.ssh_key": option(path, "", "SSH private key for the repositories"),
    "gitfs.max_bytes": option(
      byteSize(mebibyte),
      1024 * mebibyte,
      "size at which fetching a branch or tag stops, and of its files; what is larger keeps its last content",
    ),
    "gitfs.max_environments": option(
      integer(0, 255),
      200,
      "maximum number of environments in addition to base",
    ),
  }),
  ...inGroup("Budgets", {
    "budget.hello": option(
      integer(0, 1_000_000),
      60,
      "hello requests a minute that masters answer one peel, of which 5 at once; 0 means no limit",
    ),
    "budget.requests": option(
      integer(0, 1_000_000),
      3600,
      "other requests a minute of one peel, such as for state files; 0 means no limit",
    ),
    "budget.messages": option(
      integer(0, 10_000_000),
      3000,
      "acks, returns and schedule results a minute of one peel; 0 means no limit",
    ),
    "budget.bytes": option(integer(1, 1_000_000_000_000), 33_554_432, "bytes a minute of these messages"),
    "budget.connections": option(
      integer(0, 1_000_000),
      4,
      "connections that one peel may have to the bus; with more, all of them are ended; 0 means no limit",
    ),
    "budget.log_lines": option(
      integer(0, 1_000_000),
      10,
      "log lines a minute of one cause and one peel, before they are only counted; 0 means no limit",
    ),
    "budget.suspend": option(
      bool,
      true,
      "suspend a peel that sends ten times a budget for ten seconds, or a hundred times at once",
      { flag: "budget-suspend" },
    ),
  }),
  ...inGroup("Reactor", {
    "reactor.enabled": option(bool, true, "run the reactor", { flag: "reactor" }),
    "reactor.dir": option(requiredPath, inDataDir("reactor"), "directory of rule files"),
    "reactor.workers": option(integer(1, 1024), 4, "number of reactions that run at the same time"),
    "reactor.max_chain_depth": option(
      integer(0, 100),
      3,
      "maximum length of a chain of reactions; events beyond it are dropped",
    ),
    "reactor.enable_chaining": option(bool, true, "let reactions emit events of their own"),
    "reactor.default_throttle": option(
      duration(0),
      0,
      "minimum time before a rule fires again for the same source; 0 means none",
    ),
    "reactor.source_rate_limit": option(
      integer(0, 1_000_000),
      120,
      "maximum events per minute from one source; 0 means no limit",
    ),
    "reactor.max_event_age": option(
      duration(0),
      hour,
      "maximum age of an event; older events are dropped when read; 0 replays all",
    ),
    "reactor.storm_rate": option(
      integer(0, 1_000_000),
      60,
      "maximum times per minute that a rule may fire; more open its circuit breaker; 0 means no breaker",
    ),
    "reactor.breaker_cooldown": option(
      duration(0),
      5 * minute,
      "how long an open circuit breaker stays open",
    ),
    "reactor.webhook_allow": option(
      webhookHosts,
      [],
      "hosts, addresses and ranges that webhooks may call although they are loopback, link-local, metadata or multicast addresses",
    ),
  }),
} satisfies OptionTable;
