import { createBoundedMap } from "../../../base/bounded-map.ts";
import { defined } from "../../../base/defined.ts";
import { inspectFullness } from "../../../bus/assets/mod.ts";
import { openBlobStore } from "../../../bus/storage/mod.ts";
import type { RoomDeps } from "../../../doors/rooms/mod.ts";
import { createPendingTable } from "../../../fleet/enrollment/joining/mod.ts";
import { createEventFeed } from "../../../fleet/events/mod.ts";
import { requestMasterReadiness } from "../../../fleet/masters/mod.ts";
import { createPlans, openPlanStore } from "../../../fleet/plans/mod.ts";
import { createJobLookup, notifyOfCopy } from "../../../fleet/reactor/events/mod.ts";
import { releaseStandings } from "../../../fleet/releases/mod.ts";
import { createRecordMac } from "../../../identity/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { compatOf } from "../../../tree/check/mod.ts";
import { readFacts } from "../../../wire/facts.ts";
import type { EnrollCertificate } from "../../certificate/mod.ts";
import { clusterOperations } from "../cluster.ts";
import type { MasterDeps } from "../options.ts";
import { siteCertificates } from "../site-certificates.ts";
import type { Audited } from "./audit.ts";
import type { Automation } from "./automation.ts";
import type { Certificate } from "./certificate.ts";
import type { Claims } from "./claims.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Gated } from "./gate.ts";
import type { Jobs } from "./jobs.ts";
import type { Joining } from "./joining.ts";
import type { Knowledge } from "./knowledge.ts";
import type { Members } from "./members.ts";
import type { Operators } from "./operators.ts";
import type { PeelDoor } from "./peel-door.ts";
import type { PeelRequests } from "./peel-requests.ts";
import type { Presence } from "./presence.ts";
import type { Roles } from "./roles.ts";
import type { Samples } from "./samples.ts";
import type { SignedIn } from "./sign-in.ts";
import type { SitesPart } from "./sites.ts";
import type { Opened } from "./storage.ts";

/** A bus that does not answer in this time is refused the record as well. */
const spaceMs = 2_000;
/** Downloads of credentials that are remembered: many more than are under way at once. */
const maxDownloads = 1_024;

interface OperationsNeed {
  base: MasterDeps;
  connection: Connected;
  opened: Opened;
  certificate: Certificate;
  audit: Audited;
  roles: Roles;
  operators: Operators;
  decisions: Decisions;
  sites: SitesPart;
  members: Members;
  claims: Claims;
  peelDoor: PeelDoor;
  knowledge: Knowledge;
  gate: Gated;
  presence: Presence;
  jobs: Jobs;
  automation: Automation;
  samples: Samples;
  joining: Joining;
  signIn: SignedIn;
  peelRequests: PeelRequests;
}

/** What the operations of each room need. */
export const operations = {
  start: (need: OperationsNeed) =>
    assemble((stack) => {
      const { base, connection, decisions, gate, operators, automation, joining, signIn } = need;
      const { config, keys, clock, log } = base;
      const { bus } = connection;
      const { storage } = decisions;
      const feed = createEventFeed({
        ...{ bus, jobOf: createJobLookup(storage.jobs), enrollments: storage.enrollments, clock, log },
      });
      stack.defer(() => feed.stop());
      const peels = peelsDeps(need);
      const deps: Omit<RoomDeps, "binaries"> = {
        enrollment: enrollmentDeps(need),
        bootstrap: { document: need.peelRequests.document, succession: keys.succession },
        joinTokens: {
          ...{ ...joining.joinTokens.operations, urls: signIn.urls },
          pins: pinsNow(need),
          ...(config.bus_advertise_urls.length === 0 ? { busUrl: config.bus_url } : {}),
        },
        ...{ expected: joining.expected, policy: joining.policy },
        ...{ peels, exports: peels },
        targets: { resolver: need.knowledge.resolver, resolveFiles: gate.resolveFiles, mayUse: gate.mayUse },
        states: { ...peels, diffs: storage.complianceDiffs },
        releases: { ...decisions.releases, files: automation.stateFiles },
        plans: plansDeps(need),
        settings: {
          directory: peels.directory,
          settings: need.knowledge.settings.reader,
          kinds: need.knowledge.settings.kinds,
        },
        cluster: clusterDeps(need),
        sites: sitesDeps(need),
        ...{ jobs: jobsDeps(need), rollouts: automation.rollouts.operations },
        ...{ tokens: signIn.signIn.operations, sessions: signIn.sessions.operations },
        operators: {
          ...{ ...operators.operatorOperations, statements: operators.statements },
          // What is acknowledged is in the log of decisions.
          bucket: decisions.decisions.buckets.operators,
          fleet: keys.account.publicKey,
          administrators: () => operators.registry.administrators(),
          succeeds: keys.succession !== undefined,
          notifyPeels: need.peelRequests.report,
        },
        roles: { gate: gate.roleGate, roles: need.roles.roles, administrators: gate.administrators },
        approvals: {
          ...signIn.approvals.operations,
          peelOf: (id) => need.members.directory.pick({ state: "all", ids: [id] })[0]?.peel_id,
          changes: {
            ...{ runs: need.knowledge.compliance, insists: need.knowledge.insists },
            compareFiles: automation.stateFiles.compareFiles,
          },
        },
        ...{ audit: need.audit.auditDeps, events: { feed, clock } },
        ...{ masters: mastersDeps(need), samples: need.samples.operations },
        keys: keysDeps(need),
        ...{ decisions: decisions.decisions, reactor: { own: automation.reacting, bus } },
      };
      return { deps, endStreams: () => feed.stop() };
    }),
};

export type Operations = OffersOf<typeof operations>;

function enrollmentDeps(need: OperationsNeed): RoomDeps["enrollment"] {
  const { base, connection, certificate, decisions, members, claims, joining, peelRequests } = need;
  const { config, metrics, clock, random, log } = base;
  const { enrollments, challenges } = decisions.storage;
  const { directory, revocations } = members;
  const { learned, minting, issuing } = peelRequests;
  return {
    ...{ directory, enrollments, revocations, clock, enforce: claims.enforce },
    ...{ suspension: need.peelDoor.suspension, byKey: { directory }, refused: decisions.storage.revocations },
    pins: pinsNow(need),
    state: { enrollments, directory, metrics },
    challenge: { challenges, clock, random, ...joining.accepted },
    challengeTpm: { challenges, clock, ...joining.tpm },
    enroll: {
      ...{ ...joining.joining, enrollments, challenges, metrics, clock, random, log },
      rivals: directory,
      isKnown: (peelId: string) => directory.idOf(peelId) !== undefined,
      copies: {
        ...{ enrollments, directory, clock, log },
        notifyOfCopy: (id: string, peelId: string) => notifyOfCopy(connection.bus, id, peelId),
      },
      get ownCaSpkis() {
        return pinsOf(certificate.certificates.current());
      },
      pending: createPendingTable({
        ...{ directory, max: config["enroll.max_pending"], metrics, clock },
        space: async () => (await inspectFullness(connection.bus, ["enrollments"], spaceMs))[0],
      }),
    },
    deliver: {
      ...{ enrollments, ...minting, ...learned, random, log },
      issuedAt: createBoundedMap<number>(maxDownloads),
    },
    recover: {
      ...{ ...issuing, ...learned, challenges, metrics },
      recoveryWindowMs: config["enroll.recovery_window"],
    },
  };
}

/** What is stored of a silence is the same for all masters, and known where the heartbeat came to an earlier one. */
function jobsDeps({ jobs: { operations }, knowledge: { isConnected }, presence }: OperationsNeed) {
  const reach = (peel: string) =>
    isConnected(peel)
      ? { connected: true }
      : { connected: false, ...defined({ since: presence.silences.sinceOf(peel) }) };
  return { ...operations, show: { ...operations.show, reach } };
}

function peelsDeps(need: OperationsNeed) {
  const { base, decisions, members, knowledge, jobs, presence, automation, operators, peelRequests } = need;
  const { index, resolver, compliance, settings } = knowledge;
  const { enrollments, peelHeartbeats } = decisions.storage;
  return {
    ...{ directory: members.directory, index, resolver, facts: decisions.storage.facts, clock: base.clock },
    ...{ settings: settings.versions, jobs: jobs.operations.controller, compliance },
    addresses: need.peelDoor.addresses,
    releases: () =>
      releaseStandings({
        releases: decisions.releases.releases,
        list: () => automation.stateFiles.list({}),
        endOf(name, key) {
          const record = operators.registry.find(name);
          return record?.publicKey === key ? record.expiresAt : undefined;
        },
      }),
    twins: peelRequests.twins,
    ...{ silences: presence.silences, files: automation.stateFiles, enrollments, peelHeartbeats },
  };
}

/** Plans are made of what masters know already: nothing is asked of peels. */
function plansDeps(need: OperationsNeed): RoomDeps["plans"] {
  const { base, connection, decisions, members, knowledge, automation } = need;
  const { config, clock, random, log, signal } = base;
  const { storage } = decisions;
  const { settings, compliance, resolver } = knowledge;
  const blobs = openBlobStore(connection.bus, "plans");
  return {
    resolve: (expression) => resolver.resolve({ expression }),
    plans: createPlans({
      store: openPlanStore({ bucket: storage.plans, blobs, clock }),
      openFiles: automation.stateFiles.openFiles,
      settings: settings.kinds.version,
      strictFacts: config["settings.strict_facts"],
      async factsOf(peelId) {
        const stored = await storage.facts.get(peelId);
        return stored && readFacts(stored.value);
      },
      labelsOf: (peelId) => members.directory.labelsOf(peelId) ?? {},
      lastRunOf: (peelId) => compliance.runOf(peelId)?.report.snapshot,
      compat: compatOf(config["states.salt_compat"]),
      ...{ random, clock, log, signal },
    }),
  };
}

function clusterDeps({ base, connection, sites, peelDoor, knowledge }: OperationsNeed) {
  const { origins } = peelDoor;
  return clusterOperations({
    ...{ ...base, ...connection, sites: sites.sites, siteLinks: sites.siteLinks },
    ...{ siteOf: knowledge.siteOf, origins, index: knowledge.index },
  });
}

function sitesDeps({
  base,
  connection,
  opened,
  certificate,
  audit,
  decisions,
  sites,
  claims,
}: OperationsNeed) {
  const { clock, random } = base;
  const { storage } = decisions;
  const { recordMac: mac } = opened;
  const { certificates } = certificate;
  return {
    ...siteCertificates({
      ...{ certificates, recorder: audit.recorder, storage, recordMac: mac, sites: sites.sites },
      ...{ clock, random },
    }),
    ...{ bucket: storage.sites, mac, sites: sites.sites, system: connection.system, clock, random },
    ...{ accounts: sites.siteAccounts, reconciler: sites.siteReconciler, enforcer: claims.enforcer },
  };
}

function mastersDeps({ base, connection: { bus }, decisions: { storage }, automation }: OperationsNeed) {
  return {
    requestReadiness: (master: string) => requestMasterReadiness(bus, master),
    ...{ bus, probed: "master-probe" as const, leases: storage.leases, heartbeats: storage.masterHeartbeats },
    ...{ driven: automation.rollouts.driven, self: base.name },
  };
}

function keysDeps({ base: { keyring, clock }, decisions, automation }: OperationsNeed) {
  const { enrollments, jobs } = decisions.storage;
  // The key that goes first is the one that is dropped.
  const macOf = (key: string) =>
    key === keyring.first.publicKey ? createRecordMac(keyring.first) : undefined;
  return { enrollments, jobs, rollouts: automation.rollouts.bucket, macOf, clock };
}

const pinsNow =
  ({ certificate }: Pick<OperationsNeed, "certificate">) =>
  () =>
    pinsOf(certificate.certificates.current());

/** SPKI pins of the roots of the fleet: two while the root is rotated, none when its CA is external. */
function pinsOf({ root, rotation }: EnrollCertificate): string[] {
  if (root === undefined) return [];
  return [root.pin, ...(rotation === undefined ? [] : [rotation.next.pin])];
}
