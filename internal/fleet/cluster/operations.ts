import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { described, integer, timestamp, titled } from "../../base/schema.ts";
import type { ForeignConsumer } from "../../bus/assets/mod.ts";
import type { ReplicaCheck } from "../../bus/replicas/mod.ts";
import {
  type BusServerInfo,
  type Membership,
  replicaAdvice,
  replicaProblem,
  type ServerHealth,
} from "../../bus/servers/mod.ts";
import { operation } from "../operation/mod.ts";
import { problemsOf, type SiteState } from "../sites/mod.ts";
import { describeCluster, memberStates } from "./describe.ts";
import { planSteps, type RemovalDeps, removeServer } from "./remove-server.ts";

/** What the operations on the cluster of the bus need of a master. */
export interface ClusterDeps extends RemovalDeps {
  health(): Promise<ServerHealth[]>;
  /** The servers that reported lately. */
  present(): readonly BusServerInfo[];
  /** How many servers should store each stream, of as many as there are then. */
  replicasOn(servers: number): number;
  /** Compares the replicas of each stream. Calls at the same time share one comparison. */
  compare(): Promise<ReplicaCheck>;
  /** What differs on the bus from what masters want, and the consumers that no master made. */
  lint(): Promise<{
    changed: { stream: string; consumer?: string; fields: string[] }[];
    foreign: ForeignConsumer[];
  }>;
  removeConsumer(consumer: ForeignConsumer): Promise<void>;
  /** The sites, and how many peels that live say that they are there. */
  sites(): Promise<readonly (SiteState & { peels: number })[]>;
}

/** A request over the bus gives up after it; a removal continues with the next one. */
const removalMs = 8_000;
const maxHosts = 6;

const serverName = v.pipe(
  v.string(),
  v.minLength(1, "must be the name of a server"),
  v.maxLength(255, "must have at most 255 characters"),
  v.regex(/^[A-Za-z0-9._:-]+$/, "must be the name or address of a host"),
);

const names = described(v.string(), "Name of the server: that of its host");

export const showCluster = operation({
  name: "cluster.status",
  kind: "read",
  summary: "Show the servers of the bus, and where each stream is stored",
  scope: { kind: "cluster", action: "read" },
  output: titled(
    "ClusterStatus",
    v.object({
      clustered: described(v.boolean(), "Whether the bus is a cluster"),
      leader: described(v.string(), "The server that decides where streams are stored; empty without one"),
      wanted_replicas: described(integer, "How many servers should store each stream"),
      members: v.array(
        v.object({
          server: names,
          version: described(v.string(), "Version of its nats-server; empty while it does not answer"),
          state: v.picklist(memberStates),
          problem: v.exactOptional(v.string()),
          leads_group: v.boolean(),
          leads: described(integer, "Number of streams that it leads"),
          stores: described(integer, "Number of streams that it stores"),
          lag: described(integer, "Entries that it lacks of all streams together"),
          stored_bytes: v.exactOptional(
            described(integer, "Bytes that it stores on its disk; absent while it does not answer"),
          ),
          max_bytes: v.exactOptional(described(integer, "How many bytes it may store on its disk")),
        }),
      ),
      streams: v.array(
        v.object({
          stream: v.string(),
          leader: described(v.string(), "Empty during an election"),
          replicas: described(integer, "How many servers should store it"),
          bytes: v.exactOptional(
            described(integer, "Bytes that it takes on one server; absent from an earlier master"),
          ),
          servers: described(v.array(v.string()), "Servers that store it, its leader first"),
          behind: described(
            v.array(v.object({ server: v.string(), lag: integer })),
            "Servers that do not have all of it",
          ),
        }),
      ),
      sites: described(
        v.exactOptional(
          v.array(
            v.object({
              site: v.string(),
              state: v.picklist(["up", "cut off", "unknown"]),
              urls: v.array(v.string()),
              server: described(v.exactOptional(v.string()), "The server of the bus that it is linked to"),
              round_trip_ms: v.exactOptional(v.number()),
              cut_off_ms: described(v.exactOptional(integer), "How long this master has not seen its link"),
              peels: described(integer, "Peels with this site that are alive"),
              certificate_ends: described(
                v.exactOptional(timestamp),
                "When the certificate ends that its server got from masters by itself; absent where it does not ask",
              ),
              certificate_root: described(
                v.exactOptional(v.string()),
                "SPKI pin of the root of this certificate",
              ),
            }),
          ),
        ),
        "Servers of the bus that stand with their peels",
      ),
      problems: described(v.array(v.string()), "What needs attention, one sentence each"),
    }),
  ),
  async run(deps: ClusterDeps) {
    const [membership, health, sites] = await Promise.all([deps.membership(), deps.health(), deps.sites()]);
    const described = describeCluster(membership, health, deps.replicasOn(sizeOf(membership)));
    return {
      ...described,
      sites: sites.map(({ name, state, urls, link, cutOffMs, peels, certificate }) => ({
        ...{ site: name, state, urls: [...urls], peels },
        ...defined({ server: link?.server, round_trip_ms: link?.roundTripMs, cut_off_ms: cutOffMs }),
        ...(certificate === undefined
          ? {}
          : { certificate_ends: rfc3339(certificate.notAfter), certificate_root: certificate.root }),
      })),
      problems: [...described.problems, ...problemsOf(sites)],
    };
  },
});

export const checkCluster = operation({
  name: "cluster.check",
  kind: "read",
  summary: "Compare what the servers of the bus store of each stream",
  description: "It takes about ten seconds: what arrives meanwhile must not look like a difference.",
  scope: { kind: "cluster", action: "read" },
  output: titled(
    "ClusterCheck",
    v.object({
      streams: described(integer, "Streams that are stored on more than one server"),
      sampled: described(integer, "Streams of which a sample of messages was compared"),
      differences: v.array(
        v.object({
          stream: v.string(),
          server: described(v.string(), "The server that differs, or all that may"),
          message: v.string(),
          unclear: v.exactOptional(described(v.boolean(), "Whether it is unknown which server is wrong")),
        }),
      ),
    }),
  ),
  run: (deps: ClusterDeps) => deps.compare(),
});

const streamName = described(v.string(), "Name of the stream on the bus");
const foreignConsumer = titled(
  "ForeignConsumer",
  v.object({
    stream: streamName,
    name: v.string(),
    delivers_to: described(v.exactOptional(v.string()), "The subject on which it has the bus publish"),
    created: timestamp,
  }),
);

export const lintBus = operation({
  name: "cluster.lint",
  kind: "read",
  summary: "Compare the streams and consumers of the masters with what they should be",
  description:
    "A master repairs what differs within a minute. Consumers that no master made are named, and stay until they are removed.",
  scope: { kind: "cluster", action: "read" },
  output: titled(
    "BusLint",
    v.object({
      changed: v.array(
        v.object({
          stream: streamName,
          consumer: v.exactOptional(v.string()),
          fields: described(v.array(v.string()), "What differs; empty for a stream that is missing"),
        }),
      ),
      foreign: v.array(foreignConsumer),
    }),
  ),
  run: (deps: Pick<ClusterDeps, "lint">) => deps.lint(),
});

export const removeForeign = operation({
  name: "cluster.remove-foreign",
  kind: "change",
  summary: "Remove the consumers that no master made",
  scope: { kind: "cluster", action: "remove" },
  output: v.object({ removed: v.array(foreignConsumer) }),
  async run(deps: Pick<ClusterDeps, "lint" | "removeConsumer">) {
    const { foreign } = await deps.lint();
    for (const one of foreign) await deps.removeConsumer(one);
    return { removed: foreign };
  },
});

export const addHosts = operation({
  name: "cluster.add",
  kind: "change",
  summary: "Ask whether hosts may join the cluster of the bus",
  description:
    "The answer is recorded. The hosts join when their masters start, with the directories that svc cluster add writes.",
  input: v.strictObject({
    hosts: described(
      v.pipe(
        v.array(serverName),
        v.minLength(1, "must name a host"),
        v.maxLength(maxHosts, `must have at most ${maxHosts} names`),
      ),
      "Names or addresses of the hosts",
    ),
  }),
  output: v.object({
    members: described(v.array(v.string()), "Servers that the bus has now"),
    added: described(v.array(v.string()), "Those of the hosts that are not among them"),
    clustered: described(v.boolean(), "Whether the bus is a cluster now"),
    wanted_replicas: described(integer, "How many servers will store each stream"),
  }),
  async run(deps: ClusterDeps, { hosts }) {
    const problem = replicaProblem(deps.present());
    if (problem !== undefined) throw new SvcError("conflict", `${problem}: ${replicaAdvice}`);
    const membership = await deps.membership();
    const members = membersOf(membership);
    const added = [...new Set(hosts)].filter((host) => !members.includes(host));
    const { clustered } = membership;
    return { members, added, clustered, wanted_replicas: deps.replicasOn(members.length + added.length) };
  },
});

export const removeHost = operation({
  name: "cluster.remove",
  kind: "change",
  summary: "Remove a host that does not run any more from the cluster of the bus",
  description:
    "One request does some seconds of the work. Repeat it until `done`: what remains is read from the cluster.",
  input: v.strictObject({
    host: described(serverName, "Name of its server"),
    dry_run: v.optional(described(v.boolean(), "Only say what would be done")),
  }),
  output: v.object({
    done: described(v.boolean(), "Whether the host has left the cluster"),
    steps: described(v.array(v.string()), "What was done, or would be"),
    left: described(integer, "How many steps are left, as far as is known"),
  }),
  async run(deps: ClusterDeps, { host, dry_run = false }) {
    if (!dry_run) return removeServer(deps, host, removalMs);
    return planSteps(deps, host);
  },
});

const membersOf = ({ clustered, leader, followers, answered }: Membership): string[] =>
  clustered && leader !== ""
    ? [leader, ...followers.map(({ server }) => server)].sort()
    : [...answered.keys()].sort();

const sizeOf = (membership: Membership): number => Math.max(1, membersOf(membership).length);
