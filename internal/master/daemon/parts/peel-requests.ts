import { serveHello, serveRenewals } from "../../../doors/peels/mod.ts";
import { reportClone } from "../../../fleet/enrollment/revocation/mod.ts";
import { comeBackMs } from "../../../fleet/peels/mod.ts";
import { notifyOfClone } from "../../../fleet/reactor/events/mod.ts";
import { noteTaken } from "../../../fleet/releases/mod.ts";
import { followTwins } from "../../../fleet/twins/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { startDocument } from "../../keys/mod.ts";
import { hintSites } from "../hint-sites.ts";
import { notifyPeels } from "../notify-peels.ts";
import type { MasterDeps } from "../options.ts";
import { onChangedRecords } from "../released-files.ts";
import { maintainWitnesses } from "../witnesses.ts";
import type { Audited } from "./audit.ts";
import type { Automation } from "./automation.ts";
import type { Certificate } from "./certificate.ts";
import type { Claims } from "./claims.ts";
import type { SoundClock } from "./clock.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Jobs } from "./jobs.ts";
import type { Knowledge } from "./knowledge.ts";
import type { Members } from "./members.ts";
import type { Operators } from "./operators.ts";
import type { PeelDoor } from "./peel-door.ts";
import type { SitesPart } from "./sites.ts";

interface PeelRequestsNeed {
  base: MasterDeps;
  connection: Connected;
  clock: SoundClock;
  certificate: Certificate;
  audit: Audited;
  operators: Operators;
  decisions: Decisions;
  sites: SitesPart;
  members: Members;
  claims: Claims;
  peelDoor: PeelDoor;
  knowledge: Knowledge;
  jobs: Jobs;
  automation: Automation;
}

/** The requests of peels: what they learn when they connect, and the renewal of their credentials. */
export const peelRequests = {
  start: (need: PeelRequestsNeed) =>
    assemble((stack) => {
      const { base, connection, operators, decisions, sites, members, claims, peelDoor, knowledge } = need;
      const { config, keys, keyring, accountKeys, metrics, clock, jitter, log } = base;
      const { bus } = connection;
      const { storage } = decisions;
      const { directory, revocations } = members;
      const { budgets, lines } = peelDoor;
      const { recoveryKeys } = keys;
      const { auditHead } = need.audit;
      const administrators = () => operators.registry.administrators();
      /** What a peel learns with its credentials; read for each answer, as keys are replaced meanwhile. */
      const learned = {
        commandKeys: () => keyring.publicKeys,
        recoveryKeys,
        administrators,
        administratorsVersion: () => operators.statements.versionOf(administrators()),
      };
      const connected = () => {
        const now = clock.now();
        return directory.members().filter((peel) => knowledge.alive(peel, now));
      };
      const reporting = notifyPeels({ bus, connected, clock });
      stack.defer(() => reporting.stop());
      // Their schedules run what is released without a job that would name it.
      const insisting = () => connected().filter(knowledge.insists);
      const releasing = notifyPeels({ bus, connected: insisting, clock });
      stack.defer(() => releasing.stop());
      stack.defer(decisions.releases.releases.onChange(releasing.report));
      stack.defer(onChangedRecords(operators.registry, need.jobs.released, releasing.report));
      const document = startDocument({
        ...{ certificates: need.certificate.certificates, urls: config.bus_advertise_urls },
        ...{ keyring, recoveryKeys, sites: sites.sites, secrets: storage.secrets, clock, log },
      });
      stack.defer(() => document.stop());
      const hinting = hintSites({ bus, sites: sites.sites, secrets: storage.secrets });
      stack.defer(() => hinting.stop());
      const minting = {
        ...{ account: () => accountKeys.signer, validityMs: config["enroll.creds_validity"], clock },
      };
      const issuing = {
        ...{ ...minting, enrollments: storage.enrollments, directory, revocations },
        ...{ enforcer: claims.enforcer, log },
      };
      const suspecting = {
        ...{ ...issuing, enforce: claims.enforce, metrics, onClone: config["enroll.on_clone"] },
        notifyOfClone: (id: string, peelId: string) => notifyOfClone(bus, id, peelId),
      };
      const twins = followTwins({
        ...{ bucket: storage.instances, directory, clock, jitter, log },
        suspect: (id) => void reportClone(suspecting, id),
      });
      stack.defer(() => twins.stop());
      stack.defer(knowledge.onInstance(twins.received));
      // By the clock of the bus, as the heartbeats: what this host is ahead of it would make a hello a later message.
      const busNow = () => clock.now() - (need.clock.sound.aheadMs ?? 0);
      stack.defer(
        peelDoor.onConnected(({ name, startedAt }) => twins.connected(name, startedAt ?? busNow())),
      );
      const hello = serveHello({
        ...{ bus: peelDoor.requests, budgets, lines, document: document.current, auditHead, clock, log },
        ...{ missed: need.jobs.missed, lacksFacts: knowledge.lacksFacts },
        ...{ settings: knowledge.settings.answer, states: need.automation.stateFiles.inForce },
        administrators: operators.statements.after,
        spreadMs: () => comeBackMs(directory.members().length),
        knows: knowledge.rotation.reported,
        released: need.jobs.released,
        seen: (peelId, instance) => twins.received(peelId, instance, busNow()),
        taken: (releases) => noteTaken(decisions.releases, releases),
      });
      stack.defer(() => hello.stop());
      const witnesses = maintainWitnesses({ bus, auditHead, clock, jitter, connected });
      stack.defer(() => witnesses.stop());
      const renewals = serveRenewals({
        ...{ bus: peelDoor.requests, budgets, lines, ...learned, metrics },
        renewal: suspecting,
      });
      stack.defer(() => renewals.stop());
      return { learned, minting, issuing, twins, document: document.current, report: reporting.report };
    }),
};

export type PeelRequests = OffersOf<typeof peelRequests>;
