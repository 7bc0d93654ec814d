import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, meaningOf, toSvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { createSlots } from "../../base/slots.ts";
import { type Bus, badReply } from "../../bus/connection/mod.ts";
import { encodeFailure, encodeRateLimited } from "../../bus/subjects/envelope.ts";
import { helloSubject, mastersQueue } from "../../bus/subjects/subjects.ts";
import type { Budgets, LogLines } from "../../fleet/budget/mod.ts";
import type { BootstrapDocument } from "../../identity/bootstrap/mod.ts";
import { createHelloEncoder, decodeHello, type HelloOwn, maxCommands } from "../../wire/hello.ts";
import type { Instance } from "../../wire/instance.ts";
import type { SettingsAnswer } from "../../wire/settings-answer.ts";

/**
 * How many hellos are answered at the same time, and how many wait; each peel has one of them. Most of them wait for
 * one read of the storage that all of them share; `settings` bounds what is read for a single one.
 */
const bounds = { atOnce: 1_024, ofOne: 1, waiting: 16_384 } as const;

export interface HelloDeps {
  budgets: Pick<Budgets, "take">;
  lines: Pick<LogLines, "say">;
  bus: Pick<Bus, "serve">;
  /** The current bootstrap document. */
  document(): BootstrapDocument;
  /** Signed commands that this peel missed, oldest first. */
  missed(peelId: string, limit: number): readonly Uint8Array[];
  /** The answer about settings to a peel that has this version of them (0: none). @throws SvcError `storage` */
  settings(peelId: string, version: number): Promise<SettingsAnswer>;
  /**
   * The snapshot of state files of `base` in force and what was signed of it, the same object as long as nothing is
   * published; `undefined` when there is none.
   */
  states(): Promise<{ base: string; statement: Uint8Array } | undefined>;
  /** The newest entry of the audit, signed; `undefined` before the first. */
  auditHead(): Uint8Array | undefined;
  /** The statements of administrators about the administrators that follow a version. */
  administrators?(version: number): readonly Uint8Array[];
  /** What a peel that insists learns of releases: the newest of each environment, and records of operators. */
  released?(): Pick<HelloOwn, "releases" | "operatorRecords">;
  /** Takes note of the greatest releases that a peel took. @throws SvcError `storage` */
  taken?(releases: readonly Uint8Array[]): Promise<void>;
  /** Over how many milliseconds the whole fleet is to come back after the bus was away. */
  spreadMs(): number;
  /** Takes note of the command keys that a peel says it knows. */
  knows(peelId: string, commandKeys: readonly string[]): void;
  /** Whether the bus has no facts of a peel. */
  lacksFacts?(peelId: string): boolean;
  /** Takes note of the process of a peel that sent a hello; absent in one of an earlier version. */
  seen?(peelId: string, instance: Instance | undefined): void;
  clock: Clock;
  log: Log;
}

/**
 * Answers the hello of peels after each connect or hint. The request is a MessagePack map. The reply is a map
 * with `server_time` (RFC 3339), `cluster_info` (the bootstrap document) and `jobs` (signed commands that the
 * peel missed, as binaries; the rest is sent again while the peel is alive). `settings` is the sealed and
 * signed envelope of the peel's settings unless it has that version, `settings_error` is the reason why there
 * are no newer ones. `incomplete` means that something could not be read, so the peel asks again. `states`
 * has the digest of the snapshot of the environment `base`, whose files are fetched, and the signed
 * `statement` that proves it. Each request goes to one master. The token of the subject identifies the peel.
 * `audit` is the newest entry of the audit, signed, which the peel remembers. `spread_ms` is the time over
 * which the whole fleet is to connect again after the bus was away. `administrators` are signed statements
 * that change the administrators of the peel, whose version is `administrators_version` of the request.
 * A request with `insists` comes from a peel that obeys operators only: `releases` of the answer are the newest release
 * of each environment, and `operator_records` the records that prove them and those of disabled operators; `releases`
 * of the request are the greatest that the peel took. `knows_command_keys` of the request are the public keys whose commands the peel accepts. A malformed request is
 * answered with an error map. `instance` of the request names the process of the peel. `lacks_facts` asks the peel to store its
 * facts again, because the bus lost them.
 */
export function serveHello(deps: HelloDeps): {
  stop(): void;
} {
  const { bus, document, missed, settings, states, auditHead, knows, clock, log, budgets, lines } = deps;
  const refusal = encodeRateLimited();
  const slots = createSlots(bounds);
  const encodeAnswer = createHelloEncoder();
  const answer = async (peelId: string, data: Uint8Array): Promise<Uint8Array> => {
    const release = await slots.take(peelId).catch(() => undefined);
    if (release === undefined) return refusal;
    try {
      const { settingsVersion, commandKeys, administratorsVersion, insists, releases, instance } =
        decodeHello(data);
      deps.seen?.(peelId, instance);
      const later = administratorsVersion === undefined ? [] : deps.administrators?.(administratorsVersion);
      if (commandKeys.length > 0) knows(peelId, commandKeys);
      if (releases !== undefined && releases.length > 0) await noteReleases(deps, peelId, releases);
      const jobs = missed(peelId, maxCommands);
      if (jobs.length > 0) log.info("peel is sent what it missed", { peel_id: peelId, jobs: jobs.length });
      else log.debug("peel said hello", { peel_id: peelId });
      const reported = await settings(peelId, settingsVersion).catch((thrown): SettingsAnswer | undefined => {
        log.error("settings not sent", { peel_id: peelId, reason: describeError(thrown) });
        return undefined;
      });
      return encodeAnswer(
        {
          clusterInfo: document(),
          ...defined({ states: await states(), audit: auditHead() }),
          spreadMs: deps.spreadMs(),
        },
        {
          serverTime: clock.now(),
          ...defined({ settings: reported?.envelope, settingsError: reported?.error }),
          ...(later === undefined || later.length === 0 ? {} : { administrators: later }),
          ...(insists === true ? deps.released?.() : {}),
          jobs,
          ...(deps.lacksFacts?.(peelId) === true ? { lacksFacts: true } : {}),
          ...(reported === undefined ? { incomplete: true } : {}),
        },
      );
    } catch (thrown) {
      const { level } = meaningOf(toSvcError(thrown).kind);
      lines.say(level, "hello refused", peelId, { reason: describeError(thrown) });
      return encodeFailure(thrown);
    } finally {
      release();
    }
  };
  return bus.serve(
    helloSubject("*"),
    mastersQueue,
    (data, subject) => {
      const peelId = peelOf(subject);
      // Answered in any case: the bus remembers each request without an answer for two minutes.
      return budgets.take(peelId, "hello", data.length) ? answer(peelId, data) : refusal;
    },
    (subject) => {
      // It counts like any other: otherwise a peel could send these without limit.
      const peelId = peelOf(subject);
      if (budgets.take(peelId, "hello")) lines.say("warn", badReply, peelId);
    },
  );
}

/** What cannot be stored now comes again with the next hello. */
async function noteReleases(
  { taken, log }: HelloDeps,
  peelId: string,
  releases: readonly Uint8Array[],
): Promise<void> {
  try {
    await taken?.(releases);
  } catch (thrown) {
    log.error("releases of a peel not noted", { peel_id: peelId, reason: describeError(thrown) });
  }
}

const peelOf = (subject: string): string => subject.split(".")[2] ?? "";
