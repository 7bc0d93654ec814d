import * as v from "valibot";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { described, integer, timestamp, titled } from "../../base/schema.ts";
import type { FactMap } from "../../tree/targets/mod.ts";
import { type Content, content, shownSnapshot } from "../../wire/content.ts";
import { type ComplianceView, lastRun, shownCommit, shownRun, usualStaleMs } from "../compliance/mod.ts";
import { enrollmentStates, labelsField } from "../enrollment/record/mod.ts";
import type { Directory, Member } from "../enrollment/store/mod.ts";
import type { JobController } from "../jobs/mod.ts";
import { outcomes } from "../jobs/records/mod.ts";
import type { SettingsVersions } from "../settings/mod.ts";
import type { FleetIndex } from "../targeting/mod.ts";
import type { Addresses } from "./addresses.ts";
import type { FoundDeps } from "./page-of-peels.ts";
import type { Silences } from "./silences.ts";

/** A peel writes its facts itself. */
const maxFact = 100;

const shownLastJob = titled(
  "LastJob",
  v.object({
    jid: described(v.string(), "Id of the job"),
    function: v.string(),
    outcome: v.exactOptional(
      described(v.picklist(outcomes), "How it ended on this peel; `pending` while it runs"),
    ),
    at: described(timestamp, "When the job was created"),
  }),
);

/** A peel as lists, REST and the bus show it. What is not known is absent. */
export const shownPeel = titled(
  "Peel",
  v.object({
    id: described(v.string(), "Peel id with dots"),
    peel_id: described(v.string(), "Encoded peel id"),
    enrollment_id: described(v.string(), "Its enrollment in force"),
    state: described(v.picklist(enrollmentStates), "State of that enrollment"),
    alive: described(v.boolean(), "Whether its last heartbeat is less than 30 seconds old"),
    alive_since: v.exactOptional(
      described(timestamp, "Since when the master that answers has received its heartbeats without a break"),
    ),
    silent_since: v.exactOptional(
      described(
        timestamp,
        "When it stopped being alive or, if no master observed that, when a master last knew it to be alive; absent if it never reported",
      ),
    ),
    version: v.exactOptional(described(v.string(), "Version of svc-peel, as it reports it")),
    address: v.exactOptional(
      described(
        v.string(),
        "Address from which it connected to the bus last; before its first connection, from which the host asked to join",
      ),
    ),
    os: v.exactOptional(described(v.string(), "Operating system and its release, as the peel reports it")),
    labels: labelsField,
    creds_expires_at: v.exactOptional(described(timestamp, "When its credentials for the bus expire")),
    environment: v.exactOptional(
      described(
        v.string(),
        "Environment of the state files of its last state run; before the first one, of those that it would use",
      ),
    ),
    commit: v.exactOptional(shownCommit),
    snapshot: v.exactOptional(shownSnapshot),
    settings_version: v.exactOptional(
      described(
        integer,
        "Version of the settings that masters compiled for it last; it grows with each change",
      ),
    ),
    last_run: v.exactOptional(shownRun),
    last_job: v.exactOptional(described(shownLastJob, "The newest job that masters sent to it")),
  }),
);
export type ShownPeel = v.InferOutput<typeof shownPeel>;

/** What a master shows of a member from its memory, by the part of the master that has it. */
export interface MemberSources {
  index: Pick<FleetIndex, "factsOf" | "lifeOf">;
  settings: Pick<SettingsVersions, "versionOf">;
  jobs: Pick<JobController, "lastJobOf">;
  compliance: Pick<ComplianceView, "runOf">;
  silences: Pick<Silences, "sinceOf">;
  addresses: Pick<Addresses, "of">;
  /** The state files that masters publish for a peel by default. */
  files: { published(): Content | undefined };
  clock: Pick<Clock, "now">;
}

/** Puts together what a master knows of a member. */
export function showMember(
  peelId: string,
  member: Member,
  { index, settings, jobs, compliance, silences, addresses, files, clock }: MemberSources,
): ShownPeel {
  const { id, state, labels = {}, credsExpiresAt } = member;
  const life = index.lifeOf(peelId);
  const { alive } = life;
  const since = alive ? life.since : silences.sinceOf(peelId);
  const facts = index.factsOf(peelId);
  const at = since === undefined ? undefined : rfc3339(Math.floor(since));
  return {
    id: displayPeelId(peelId),
    peel_id: peelId,
    enrollment_id: id,
    state,
    alive,
    ...defined({
      ...(alive ? { alive_since: at } : { silent_since: at }),
      version: textOf(facts, "svc_version"),
      address: addresses.of(peelId) ?? member.address,
      os: systemOf(facts),
    }),
    labels,
    ...(credsExpiresAt === undefined ? {} : { creds_expires_at: rfc3339(credsExpiresAt) }),
    ...(lastRunOf(compliance, clock.now(), peelId) ?? publishedNow(files)),
    ...defined({ settings_version: settings.versionOf(peelId), last_job: lastJobOf(jobs, peelId) }),
  };
}

/** The last state run, and the state files that it used. */
function lastRunOf(
  compliance: MemberSources["compliance"],
  now: number,
  peelId: string,
): Pick<ShownPeel, "environment" | "commit" | "snapshot" | "last_run"> | undefined {
  const known = compliance.runOf(peelId);
  if (known === undefined) return undefined;
  const run = lastRun(known, now, usualStaleMs);
  const { environment, commit, snapshot } = run;
  return { environment, ...(commit === "" ? {} : { commit }), ...defined({ snapshot }), last_run: run };
}

/** The state files that a peel would use. */
function publishedNow({ published }: MemberSources["files"]): Partial<ShownPeel> {
  const found = published();
  if (found === undefined) return {};
  const { environment, commit, snapshot } = content.show(found);
  return { environment, commit, snapshot };
}

function lastJobOf(jobs: MemberSources["jobs"], peelId: string): ShownPeel["last_job"] {
  const last = jobs.lastJobOf(peelId);
  return last === undefined ? undefined : { ...last, at: rfc3339(last.at) };
}

/** `Debian 12` */
function systemOf(facts: FactMap | undefined): string | undefined {
  const [os, release] = [textOf(facts, "os"), textOf(facts, "osrelease")];
  return os === undefined || release === undefined || release === "n/a" ? os : `${os} ${release}`;
}

/** A fact that is a text or a number, shortened. */
function textOf(facts: FactMap | undefined, name: string): string | undefined {
  const value = facts?.values[facts.keys.indexOf(name)];
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  return String(value).slice(0, maxFact);
}

/** What a master answers from: all of it is in its memory. */
export interface PeelsDeps extends MemberSources, FoundDeps {
  directory: Pick<Directory, "caughtUp" | "members" | "memberOf" | "stateOf">;
  index: MemberSources["index"] & FoundDeps["index"];
}
