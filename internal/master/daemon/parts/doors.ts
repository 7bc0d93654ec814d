import { type Address, formatAddress } from "../../../base/address.ts";
import { defined } from "../../../base/defined.ts";
import { inspectFullness } from "../../../bus/mod.ts";
import { createStreams, type Streams, serveRoom } from "../../../doors/bus/mod.ts";
import { carriedBundle, consoleRoutes } from "../../../doors/console/mod.ts";
import { serveHello, serveRenewals } from "../../../doors/peels/mod.ts";
import { createDocs, routesOf, startListener } from "../../../doors/rest/mod.ts";
import { type RoomDeps, restRooms, rooms, served } from "../../../doors/rooms/mod.ts";
import { createPendingTable } from "../../../fleet/enrollment/mod.ts";
import { createEventFeed } from "../../../fleet/events/mod.ts";
import { askMasterReadiness } from "../../../fleet/masters/mod.ts";
import { comeBackMs } from "../../../fleet/peels/mod.ts";
import { createJobLookup, tellClone } from "../../../fleet/reactor/mod.ts";
import { createRecordMac } from "../../../identity/mod.ts";
import { assemble } from "../../../program/health/mod.ts";
import type { EnrollCertificate } from "../../certificate/mod.ts";
import { startDocument, viewRotations } from "../../keys/mod.ts";
import { startSignIn } from "../../sign-in/mod.ts";
import { startApprovals } from "../approvals.ts";
import { clusterOperations } from "../cluster.ts";
import { hintSites } from "../hint-sites.ts";
import type { MasterDeps } from "../options.ts";
import { startSessions } from "../sessions.ts";
import { siteCertificates } from "../site-certificates.ts";
import { tellPeels } from "../tell-peels.ts";
import { keepWitnesses } from "../witnesses.ts";
import type { Audited } from "./audit.ts";
import type { Certificate } from "./certificate.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Fleet } from "./fleet.ts";
import type { Gated } from "./gate.ts";
import type { Joining } from "./joining.ts";
import type { Operators } from "./operators.ts";
import type { Requests } from "./requests.ts";
import type { Roles } from "./roles.ts";
import type { SitesPart } from "./sites.ts";
import type { Stored } from "./storage.ts";
import type { Work } from "./work.ts";

/** A bus that does not answer in this time is refused the record as well. */
const spaceMs = 2_000;

function openStreams(stack: Pick<AsyncDisposableStack, "defer">, deps: Connected & MasterDeps): Streams {
  const streams = createStreams(deps);
  stack.defer(() => streams.stop());
  return streams;
}

/** The doors of operators and peels: HTTPS, and the subjects of the bus. */
export const doors = {
  waits: { "enroll-server": "not started yet", "target-service": "not started yet" },
  start: (
    deps: MasterDeps &
      Certificate &
      Connected &
      Stored &
      Decisions &
      Fleet &
      Gated &
      Operators &
      Requests &
      Roles &
      Audited &
      Joining &
      SitesPart &
      Work,
  ) =>
    assemble(async (stack) => {
      const { config, certificates, bus, storage, directory, resolver, jobs, rollouts } = deps;
      const { keys, metrics, tracer, clock, random, log } = deps;
      const { revocations, enforcer, disconnections } = deps;
      const { enrollments } = storage;
      const decisions = {
        ...{ directory, enrollments, clock, revocations },
        enforce: { enforcer, disconnections, metrics, clock, log },
        suspension: deps.suspension,
        refused: storage.revocations,
        pins: () => pinsOf(certificates.current()),
      };
      const operators = {
        rolesNow: (operator: string) => deps.registry.rolesNow(operator, clock.now()),
        knownRoles: deps.roleNames,
        covers: deps.covers,
        admitsUnregistered: () => !config["operators.require_signed"],
      };
      const signIn = startSignIn({
        ...{ config, tokens: storage.tokens, ended: deps.endedTokens, mac: deps.recordMac, operators },
        ...{ clock, random, log, signal: deps.signal },
      });
      stack.defer(() => signIn.stop());
      const approvals = startApprovals({ ...deps, signIn });
      stack.defer(() => approvals.stop());
      // Read for each answer: a key can be replaced meanwhile.
      const commandKeys = () => deps.keyring.publicKeys;
      const administrators = () => deps.registry.administrators();
      const administratorsVersion = () => deps.statements.versionOf(administrators());
      const learned = { commandKeys, recoveryKeys: keys.recoveryKeys, administrators, administratorsVersion };
      const connectedPeels = () => {
        const now = clock.now();
        return directory.members().filter((peel) => deps.alive(peel, now));
      };
      const telling = tellPeels({ bus, connected: connectedPeels, clock });
      stack.defer(() => telling.stop());
      const document = startDocument({
        certificates,
        urls: config.bus_advertise_urls,
        keyring: deps.keyring,
        recoveryKeys: keys.recoveryKeys,
        sites: deps.sites,
        secrets: storage.secrets,
        clock,
        log,
      });
      stack.defer(() => document.stop());
      const hinting = hintSites({ bus, sites: deps.sites, secrets: storage.secrets });
      stack.defer(() => hinting.stop());
      const hello = serveHello({
        bus: deps.peelDoor,
        budgets: deps.budgets,
        lines: deps.lines,
        document: document.current,
        missed: deps.missed,
        settings: deps.settings.answer,
        states: deps.stateFiles.inForce,
        auditHead: deps.auditHead,
        administrators: deps.statements.after,
        spreadMs: () => comeBackMs(directory.members().length),
        knows: deps.rotation.told,
        clock,
        log,
      });
      stack.defer(() => hello.stop());
      const witnesses = keepWitnesses({
        ...{ bus, auditHead: deps.auditHead, clock, jitter: deps.jitter },
        connected: connectedPeels,
      });
      stack.defer(() => witnesses.stop());
      const minting = {
        account: () => deps.accountKeys.signer,
        validityMs: config["enroll.creds_validity"],
        clock,
      };
      const issuing = { ...minting, enrollments, directory, revocations, enforcer, log };
      const renewals = serveRenewals({
        ...{ bus: deps.peelDoor, budgets: deps.budgets, lines: deps.lines, ...learned, metrics },
        renewal: {
          ...issuing,
          enforce: decisions.enforce,
          onClone: config["enroll.on_clone"],
          tellClone: (id, peelId) => tellClone(bus, id, peelId),
          metrics,
        },
      });
      stack.defer(() => renewals.stop());
      const { gate, roleGate } = deps;
      const ports = { https: config["enroll.addr"].port };
      const urls = () =>
        advertisedUrls(config["enroll.advertise_urls"], { host: deps.hostname, port: ports.https });
      const sessions = startSessions({ ...deps, signIn, urls });
      const joinTokens = {
        ...deps.joinTokens.operations,
        urls,
        pins: decisions.pins,
      };
      const events = {
        feed: createEventFeed({ bus, jobOf: createJobLookup(storage.jobs), enrollments, clock, log }),
        clock,
      };
      const peels = {
        ...{ directory, index: deps.index, resolver, facts: storage.facts, clock },
        ...{ settings: deps.settings.versions, jobs: jobs.controller, compliance: deps.compliance },
        ...{ silences: deps.silences, files: deps.stateFiles },
        ...{ enrollments, peelHeartbeats: storage.peelHeartbeats },
      };
      const sites = {
        ...{ bucket: storage.sites, mac: deps.recordMac, sites: deps.sites, system: deps.system },
        ...{ accounts: deps.siteAccounts, keeper: deps.siteKeeper, enforcer, clock, random },
      };
      const states = {
        ...{ directory, resolver, compliance: deps.compliance, diffs: storage.complianceDiffs, clock },
      };
      const needed: Omit<RoomDeps, "binaries"> = {
        enrollment: {
          ...decisions,
          state: { enrollments, directory, metrics },
          challenge: { challenges: storage.challenges, clock, random, ...deps.accepted },
          challengeTpm: { challenges: storage.challenges, clock, ...deps.tpm },
          enroll: {
            enrollments,
            challenges: storage.challenges,
            isKnown: (peelId: string) => directory.idOf(peelId) !== undefined,
            clock,
            random,
            get ownCaSpkis() {
              return pinsOf(certificates.current());
            },
            pending: createPendingTable({
              directory,
              max: config["enroll.max_pending"],
              space: async () => (await inspectFullness(bus, ["enrollments"], spaceMs))[0],
              metrics,
              clock,
            }),
            ...deps.joining,
            metrics,
            log,
          },
          deliver: { enrollments, ...minting, ...learned, random, log },
          recover: {
            ...issuing,
            challenges: storage.challenges,
            recoveryWindowMs: config["enroll.recovery_window"],
            ...learned,
            metrics,
          },
          byKey: { directory },
          clock,
        },
        bootstrap: { document: document.current, succession: keys.succession },
        joinTokens,
        expected: deps.expected,
        policy: deps.policy,
        peels,
        states,
        settings: { directory, settings: deps.settings.reader },
        exports: peels,
        cluster: clusterOperations(deps),
        sites: { ...siteCertificates(deps), ...sites },
        targets: { resolver },
        jobs,
        rollouts: rollouts.operations,
        tokens: signIn.operations,
        sessions: sessions.operations,
        operators: {
          ...deps.operatorOperations,
          ...{ statements: deps.statements, fleet: keys.account.publicKey, administrators },
          succeeds: keys.succession !== undefined,
          tellPeels: telling.tell,
        },
        roles: { gate: roleGate, roles: deps.roles, administrators: deps.administrators },
        approvals: approvals.operations,
        audit: deps.auditDeps,
        events,
        masters: mastersOf(deps),
        keys: keysOf(deps),
        decisions: deps.decisions,
        reactor: { own: deps.reacting, bus },
      };
      // The master that reacts serves the reactor itself.
      const { reactor: _, ...overBus } = needed;
      const { sessions: __, ...withoutConsole } = needed;
      const overRest = sessions.judge === undefined ? withoutConsole : needed;
      const routes = served(restRooms, overRest).flatMap(([table, own]) =>
        routesOf({ clock, gate }, table, own, largestBodies(deps.accepted)),
      );
      const docs = config["api.docs_enabled"] ? await createDocs(routes) : undefined;
      const { isServed } = sessions.operations;
      const pages =
        sessions.judge === undefined ? [] : consoleRoutes({ bundle: await carriedBundle(), isServed });
      const listener = await startListener({
        ...config["enroll.addr"],
        certificate: certificates.current(),
        tokens: config["api.tokens"],
        bearers: signIn.bearers,
        ...defined({ sessions: sessions.judge, docs }),
        hidesWithoutTokens: true,
        networks: config["enroll.networks"],
        metrics,
        tracer,
        clock,
        log,
        routes: [...routes, ...pages],
      });
      stack.defer(() => listener.stop());
      // Before the listener: its streams end, so that their readers continue at another master.
      stack.defer(() => events.feed.stop());
      ports.https = listener.port;
      stack.defer(certificates.onChange(listener.setCertificate));
      // A certificate that was renewed while the listener started.
      listener.setCertificate(certificates.current());
      const busDoor = {
        ...{ bus, master: deps.name, tracer, clock, log, gate, requests: deps.requests },
        ...{ starters: approvals.starters, streams: openStreams(stack, deps) },
      };
      for (const [table, own] of served(rooms, overBus)) serveRoom(busDoor, table, own);
      approvals.open();
      return {
        listener,
        checks: {
          "enroll-server": () =>
            listener.listening
              ? ({ status: "up" } as const)
              : ({ status: "down", message: "the listener has exited" } as const),
          "target-service": deps.targetCheck,
        },
        view: {
          rotations: () =>
            viewRotations({
              certificate: certificates.current(),
              index: deps.index,
              rotation: deps.rotation,
              authDir: config.auth_dir,
              nextKey: deps.keyring.next,
            }),
        },
      };
    }),
};

function mastersOf({ bus, storage, rollouts, name }: Connected & Stored & Work & { name: string }) {
  return {
    askReadiness: (master: string) => askMasterReadiness(bus, master),
    ...{ bus, probed: "master-probe" as const, leases: storage.leases },
    ...{ heartbeats: storage.masterHeartbeats, driven: rollouts.driven, self: name },
  };
}

function keysOf({ storage, rollouts, keyring, clock }: MasterDeps & Connected & Stored & Work) {
  // The key that goes first is the one that is dropped.
  const macOf = (key: string) =>
    key === keyring.first.publicKey ? createRecordMac(keyring.first) : undefined;
  const { enrollments, jobs } = storage;
  return { enrollments, jobs, rollouts: rollouts.bucket, macOf, clock };
}

/** SPKI pins of the roots of the fleet: two while the root is rotated, none when its CA is external. */
function pinsOf({ root, rotation }: EnrollCertificate): string[] {
  if (root === undefined) return [];
  return [root.pin, ...(rotation === undefined ? [] : [rotation.next.pin])];
}

/** Where other hosts reach the masters. */
function advertisedUrls(configured: readonly string[], own: Address): readonly string[] {
  return configured.length > 0 ? configured : [`https://${formatAddress(own)}`];
}

/** Only certificates need more than other bodies. */
function largestBodies({ evidence }: Joining["accepted"]): Record<string, number> {
  const bytes = 16 * 1024;
  return evidence === undefined ? {} : { enroll: bytes, challengeTpm: bytes };
}
