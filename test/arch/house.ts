/** A room: a folder below internal/ with one subject. Folders inside it that have no row belong to it. */
export interface Room {
  /** Below internal/, or `cmd`. */
  path: string;
  /**
   * Imports go down: the floor of a room is one more than that of the highest room it imports, so it says how
   * much of the house a change of the room can reach.
   */
  floor: number;
  /** One line for a newcomer. */
  subject: string;
  /** Which files other rooms may import: its `mod.ts`, or every file of a room that is a library. */
  door: "mod.ts" | "every file";
}

/** A folder of internal/: what a newcomer sees first. */
export interface Wing {
  /** Its name below internal/. */
  name: string;
  subject: string;
  /** Wings that it never imports, although they stand before it. */
  without?: readonly string[];
  rooms: readonly Room[];
}

const room = (path: string, floor: number, subject: string): Room => ({
  path,
  floor,
  subject,
  door: "mod.ts",
});
const library = (path: string, floor: number, subject: string): Room => ({
  path,
  floor,
  subject,
  door: "every file",
});

/** The whole house, from the ground up: no wing imports one that stands below it in this list. */
export const house: readonly Wing[] = [
  {
    name: "base",
    subject: "what every other room may use: errors, time, ids, encodings, files, mechanisms",
    rooms: [
      library("base", 1, "errors, clock, ids, encodings, files, log, and each general mechanism once"),
      library("base/webhook", 2, "calling a webhook: which addresses and URLs, TLS, time and size limits"),
      library("base/process", 2, "child processes: run, bound, capture and end them"),
    ],
  },
  {
    name: "identity",
    subject: "keys and certificates, and how hosts judge them",
    rooms: [
      room("identity/merkle", 1, "Merkle trees: the root of a set, and proofs that an item is in it"),
      room("identity", 2, "nkeys, JWTs, credentials, curve keys, seals, record MACs"),
      room(
        "identity/bootstrap",
        2,
        "the public document a new peel starts from, and how a peel finds the bus",
      ),
      room("identity/join-token", 2, "the string that a host joins with: addresses, pins, and a secret"),
      room("identity/succession", 3, "the signed statement that a new fleet succeeds an old one"),
      room("identity/trust", 3, "the trust ladder: how a peel judges the root of a fleet"),
      room(
        "identity/evidence",
        3,
        "what a host proves in addition to its key: certificates, SSH host keys, TPM 2.0",
      ),
      room("identity/oidc", 4, "tokens of identity providers: their keys, and who a token is for"),
      room("identity/ca", 4, "the embedded certificate authority: root, intermediate, leaves"),
    ],
  },
  {
    name: "bus",
    subject: "NATS and JetStream: connections, storage, servers and accounts",
    rooms: [
      library("bus/subjects", 2, "subjects, queues, and the envelope of an answer"),
      room("bus/connection", 3, "a connection to the bus: connect, request, relay"),
      room("bus/jetstream", 4, "requests to JetStream, one file each, and what their errors mean"),
      room("bus/servers", 4, "the servers of the bus: who is connected, what they store, ending connections"),
      room("bus/storage", 6, "buckets and object stores: read, written, watched, backed up"),
      room("bus/streams", 6, "streams: appended to, read, consumed, trimmed"),
      room("bus/assets", 5, "the streams and buckets of the service: declared, provisioned, guarded"),
      room("bus/replicas", 6, "whether the copies of a stream agree"),
      room("bus/accounts", 3, "operator, accounts, exports and imports, credentials, server configuration"),
      room("bus/server", 3, "a nats-server as a child process: found, started, watched, ended"),
      room("bus/lease", 7, "the fenced lease that a single writer holds"),
    ],
  },
  {
    name: "program",
    subject: "what the three programs have in common",
    rooms: [
      room("program/daemon", 3, "the life of a daemon: start, signals, exit code"),
      room("program/health", 2, "the local HTTP endpoints: health, readiness, metrics"),
      room(
        "program/config",
        2,
        "options, declared once; read from YAML and flags; help, examples, reference",
      ),
      room("program/tracing", 2, "traces: spans of a program, sent to a receiver by OTLP"),
      room("program/answers", 2, "showing what a function returned"),
      room("program/diagnosis", 6, "the steps of check and doctor"),
      room("program/command-line", 2, "commands, arguments, usage, completion kinds, output"),
    ],
  },
  {
    name: "host",
    subject: "what a host is and can do",
    rooms: [
      room("host/binary", 2, "the peel's executable as something to hand out: manifest, digest, platform"),
      library("host/system", 3, "the operating system: how it is called, and its files, one each"),
      room("host/system/packages", 4, "package managers and their repositories"),
      room("host/system/services", 4, "service managers"),
      room("host/system/accounts", 4, "users and groups"),
      room("host/facts", 3, "what a peel reports about its host"),
      room("host/modules", 5, "the functions that a job can call"),
    ],
  },
  {
    name: "wire",
    subject: "what peels, masters and operators say to each other",
    rooms: [
      library("wire", 6, "one file per message: its schema, its bytes, and whether it can be believed"),
    ],
  },
  {
    name: "tree",
    subject: "what operators write for hosts, and what becomes of it",
    rooms: [
      room(
        "tree/jinja/values",
        2,
        "the values of templates: Python's, with their order and their conversions",
      ),
      room("tree/jinja/syntax", 2, "the syntax of templates: from text to a tree of statements"),
      room("tree/jinja", 3, "the template language: values and syntax evaluated, filters, limits"),
      room("tree/template", 4, "templates of a tree, with the facts and settings of a peel"),
      room("tree/settings", 7, "settings files: from a tree of templates to the settings of one peel"),
      room("tree/host-functions", 6, "functions that templates may call to look at a host"),
      room("tree/targets", 2, "the language of target expressions"),
      room("tree/files", 7, "state files: snapshots, manifests, the signed catalog, sources"),
      room("tree/publication", 8, "publishing state files: overlaid, uploaded, signed, followed"),
      room("tree/git", 8, "Git repositories as sources of state files"),
      room("tree/function", 8, "what a state function is"),
      room("tree/comparison", 9, "how the files of two snapshots differ, for people"),
      room("tree/functions", 9, "the state functions, one file each"),
      room("tree/language", 10, "from state files to an ordered list of states"),
      room("tree/plan", 11, "what a change of files and settings orders for each peel, and why"),
      room("tree/check", 12, "whether files are right for every host, before one runs them"),
      room("tree/run", 11, "running an ordered list of states"),
    ],
  },
  {
    name: "fleet",
    subject: "what masters decide about peels",
    rooms: [
      room("fleet/operation", 7, "what a capability is, and the one way it is invoked"),
      room("fleet/operation/door-table", 8, "the table of the doors of a room: routes, subjects, hints"),
      room("fleet/requests", 8, "requests that operators sign: envelope, judgement, nonces"),
      room("fleet/masters", 9, "which masters live, how each is, and which leases it holds"),
      room("fleet/audit", 9, "the record of every decision: its chain, its writers, its readers"),
      room("fleet/budget", 12, "how much one peel may ask, send and cause to be logged"),
      room("fleet/bootstrap", 9, "publishing the bootstrap document on the bus"),
      room("fleet/cluster", 10, "the servers of the bus: who stores what, who may join, how one leaves"),
      room(
        "fleet/sites",
        9,
        "sites: servers of the bus that stand with their peels; who has one, and how it is linked",
      ),
      room("fleet/binaries", 9, "the binaries that peels can be upgraded to"),
      room("fleet/enrollment/record", 7, "the record of an enrollment: its fields, states and transitions"),
      room("fleet/enrollment/store", 8, "where records are kept: vouched, indexed, listed from memory"),
      room("fleet/enrollment/bus-user", 8, "what a peel may do on the bus, as a signed JWT"),
      room("fleet/enrollment/revocation", 9, "keys that the bus refuses: revoked, suspended, disconnected"),
      room("fleet/enrollment/joining", 9, "how a host proves its key, and who lets it in"),
      room("fleet/enrollment/credentials", 10, "credentials of peels: delivered, renewed, recovered"),
      room(
        "fleet/enrollment",
        11,
        "the operations on enrollments, and what masters do about them by themselves",
      ),
      room("fleet/targeting", 9, "which peels an expression means"),
      room("fleet/operators", 9, "who is an operator: records that administrators sign, and their judgement"),
      room("fleet/compliance", 13, "state runs that peels report: the last one of each, and what it says"),
      room("fleet/twins", 9, "which processes of a peel were seen, and whether two hosts hold its identity"),
      room(
        "fleet/samples",
        9,
        "how the fleet was over time: samples of each minute and hour, kept in cycles",
      ),
      room("fleet/peels", 14, "what the masters know of each peel: listed and shown from memory"),
      room("fleet/tokens", 9, "tokens of the REST API: created, judged, revoked"),
      room("fleet/sessions", 9, "sessions of the console: signed in, judged, ended on every master"),
      room("fleet/expected", 12, "hosts that are known before they come: added, listed, admitted once"),
      room("fleet/policy", 12, "the enrollment policy: rules, programs and webhooks that decide about hosts"),
      room("fleet/releases", 10, "releases of state files: signed by operators, judged, stored, followed"),
      room("fleet/decisions", 10, "decisions outside the bus: log, comparison, restoration"),
      room(
        "fleet/plans",
        14,
        "plans of changes: trees received, orders compiled for each peel, kept for a day",
      ),
      room("fleet/settings", 13, "settings: sealed, stored and explained for each peel"),
      room("fleet/jobs/records", 7, "the record of a job, its MAC, and what became of each target"),
      room("fleet/jobs", 13, "jobs: record, signed command, dispatch, outcome"),
      room("fleet/roles", 10, "roles: what an operator may do, and to which peels"),
      room("fleet/join-tokens", 12, "tokens that hosts join with: created, used, given back, revoked"),
      room("fleet/exports", 15, "the fleet as other tools read it: targets of Prometheus, inventories"),
      room("fleet/rollout", 14, "a job wave by wave: plan, order, controller"),
      room("fleet/keys", 15, "the keys of a fleet: what still depends on one that is replaced"),
      room("fleet/reactor/events", 14, "what happened, as rules see it"),
      room("fleet/reactor/rules", 15, "rules: read from files, checked, watched"),
      room("fleet/reactor", 16, "rules: what is done when something happens"),
      room("fleet/approvals", 14, "requests that wait until other operators agree"),
      room("fleet/gate", 15, "whether a request passes: roles, agreement of others, audit"),
      room("fleet/events", 17, "what happened: read from several streams in order, and followed"),
    ],
  },
  {
    name: "doors",
    subject: "how what masters do is reached: one table for each room, read by a binder for each door",
    rooms: [
      room("doors/bus", 15, "operations over the bus: what masters serve, and svc asks by"),
      room(
        "doors/sockets",
        2,
        "the sockets of the HTTPS listener: counted and timed from accept, TLS, limits",
      ),
      room("doors/rest", 15, "the HTTPS door: peel enrollment, operator REST, API description"),
      room("doors/console", 16, "the pages of the console, carried by the executable"),
      room("doors/peels", 13, "the bus door: requests of peels"),
      room("doors/rooms", 18, "the operations of every room with their doors, in one list"),
    ],
  },
  {
    name: "agent",
    subject: "the peel",
    without: ["fleet"],
    rooms: [
      room("agent/evidence", 4, "what a peel proves about its host when it enrolls"),
      room("agent/identity", 7, "the id, the keys and the credentials of a peel on its disk"),
      room("agent/trust", 8, "what a peel trusts: roots, keys of the masters, administrators"),
      room("agent/joining", 9, "enrollment as the peel does it"),
      room("agent/succession", 10, "how a peel comes to the fleet that succeeds its own"),
      room("agent/link", 9, "the peel's connection to the bus, and what waits for it on disk"),
      room("agent/compliance", 10, "reports of state runs, and those that wait on disk"),
      room("agent/renewal", 10, "bus credentials and keys: renewed in time, recovered, replaced"),
      room("agent/state-files", 10, "the peel's cache of state files"),
      room("agent/settings", 8, "the peel's settings: accepted, kept on disk, given to templates"),
      room("agent/masking", 9, "secret values taken out of what leaves this host"),
      room("agent/schedule", 7, "when a peel runs what by itself"),
      room(
        "agent/releases",
        8,
        "which state files an operator released, and the newest records of operators",
      ),
      room("agent/consent", 9, "whether an operator signed what a command asks for"),
      room("agent/execution", 12, "running a command at most once"),
      room("agent/upgrade", 13, "changing the peel over to another executable"),
      room("agent/watchdog", 14, "the process above a peel: restart, trial, rollback"),
      room("agent/daemon", 14, "the parts of a peel, created, wired, started and stopped"),
      room("agent/command", 15, "the commands of svc-peel"),
    ],
  },
  {
    name: "master",
    subject: "the master",
    rooms: [
      room("master/certificate", 5, "the certificate of the HTTPS listener, and its renewal"),
      room("master/site", 10, "the bus of a site: its certificate and its roots, as the masters have them"),
      room("master/bus", 16, "the bus servers of a master: embedded, or observed"),
      room("master/storage", 16, "the storage of masters on the bus: created, measured, grown"),
      room("master/keys", 16, "the keys of a master: read, followed while they change, replaced"),
      room(
        "master/compared-files",
        17,
        "whether all masters have the same files on their own hosts: digests, comparison",
      ),
      room("master/state-files", 17, "state files of a master: published, and signed for peels"),
      room("master/sign-in", 16, "how a person gets a token or a session"),
      room("master/clock", 10, "the clock of a master, compared with the bus and the other masters"),
      room("master/metrics", 15, "the metrics of a master"),
      room("master/daemon", 19, "the parts of a master, created, wired, started and stopped"),
      room("master/command", 20, "the commands of svc-master"),
    ],
  },
  {
    name: "console",
    subject: "the console: what a browser shows, bundled into svc-master",
    rooms: [
      library(
        "console/kit",
        3,
        "the looks, and what every page is made of: table, status, time, diff, confirm",
      ),
      room("console/charts", 4, "pictures of numbers: curves, bars, distributions, and a grid of all hosts"),
      room("console/api", 18, "the REST interface from a browser: typed routes, session, live events"),
      room("console/targets", 19, "a field for a target: completion, and errors as they are typed"),
      room("console/answers", 4, "what a function returned, as people read it"),
      room(
        "console/event-words",
        18,
        "what happened, as sentences with links, told together where it is one thing",
      ),
      room("console/outlook", 19, "what a master says will happen, before and after it is asked for"),
      room(
        "console/calls",
        20,
        "the form of a call: a function with its documented arguments, and the peels that it is meant for",
      ),
      room("console/pages/sign-in", 19, "the door: a token, a provider of identities, a link"),
      room("console/pages/overview", 19, "the page Overview: how the fleet is"),
      room("console/pages/peels", 20, "the page Peels: searched, and one of them in full"),
      room(
        "console/pages/enrollments",
        20,
        "the page Enrollments: fingerprints compared, and many decided at once",
      ),
      room("console/pages/jobs", 21, "the page Jobs: run, followed as peels answer, and run again"),
      room(
        "console/pages/rollouts",
        21,
        "the page Rollouts: started, waves as a picture, their gate, and what stops them",
      ),
      room("console/pages/audit", 19, "the page Audit: searched, one entry in full, and whether it is whole"),
      room("console/pages/approvals", 19, "the page Approvals: what waits for others, approved or denied"),
      room("console/pages/operators", 20, "the page Operators: operators, their roles, and tokens"),
      room("console/pages/states", 20, "the page States: by commit, what drifts, what fails most"),
      room("console/pages/reactor", 20, "the page Reactor: its rules and breakers, and an event tried"),
      room(
        "console/pages/cluster",
        19,
        "the page Cluster: the servers of the bus, and where each stream is stored",
      ),
      room("console/pages/events", 19, "the page Events: what happens, filtered, paused and continued"),
      library("console/app", 22, "the frame around the pages, wired together once per tab"),
    ],
  },
  {
    name: "cli",
    subject: "svc, the command line of operators",
    rooms: [
      room(
        "cli/setup",
        19,
        "svc init: a whole fleet for one host, in one directory; and one that succeeds another",
      ),
      room("cli/salt", 16, "what a Salt master has, written as files of a fleet, with a report"),
      room("cli", 20, "the commands of svc, one file each"),
    ],
  },
  {
    name: "cmd",
    subject: "the three programs: arguments in, exit code out",
    rooms: [library("cmd", 21, "one main.ts per program")],
  },
];

/** Every room, by path. */
export const rooms: ReadonlyMap<string, Room> = new Map(
  house.flatMap((wing) => wing.rooms.map((one) => [one.path, one] as const)),
);

/** The room a file of internal/ or cmd/ is in: the deepest one whose folder holds it. */
export function roomOf(path: string): Room | undefined {
  if (path.startsWith("cmd/")) return rooms.get("cmd");
  if (!path.startsWith("internal/")) return undefined;
  let folder = path.slice("internal/".length);
  while (folder.includes("/")) {
    folder = folder.slice(0, folder.lastIndexOf("/"));
    const found = rooms.get(folder);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The path of the outermost room around a file: a domain with the rooms inside it is one subject. */
export function outermostRoomOf(path: string): string | undefined {
  const own = roomOf(path)?.path;
  const names = own?.split("/") ?? [];
  return names.map((_, at) => names.slice(0, at + 1).join("/")).find((outer) => rooms.has(outer));
}

/** The name of the wing of a room. */
const wingName = ({ path }: Room) => path.split("/")[0];

/** Where the wing of a room stands in the list. */
export function wingIndex(room: Room): number {
  return house.findIndex(({ name }) => name === wingName(room));
}

/** Whether the wing of a room does without the wing of another one. */
export function doesWithout(room: Room, other: Room): boolean {
  return house[wingIndex(room)]?.without?.includes(wingName(other) ?? "") === true;
}
