import { type Clock, rfc3339 } from "../../../base/clock.ts";
import { describeError, meaningOf, SvcError, toSvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { decode, encode } from "../../../base/msgpack.ts";
import { type Bus, encodeFailure, helloSubject, mastersQueue } from "../../../bus/mod.ts";
import type { SettingsAnswer } from "../../../fleet/settings/mod.ts";
import type { BootstrapDocument } from "../../../identity/bootstrap/mod.ts";

/** A hello is small; a longer one is not from a peel. */
const maxRequestBytes = 4096;
/** Maximum size of one answer. */
const maxCommands = 256;

export interface HelloDeps {
  bus: Pick<Bus, "serve">;
  /** The current bootstrap document. */
  document(): BootstrapDocument;
  /** Signed commands that this peel missed, oldest first. */
  missed(peelId: string, limit: number): readonly Uint8Array[];
  /** What a peel that has settings of this version (0: none) is told of its settings. @throws SvcError `storage` */
  settings(peelId: string, version: number): Promise<SettingsAnswer>;
  /** The snapshot of state files of `base` in force and what was signed of it; `undefined` when there is none. */
  states(): Promise<{ base: string; statement: Uint8Array } | undefined>;
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
 * A malformed request is answered with an error map.
 */
export function serveHello({ bus, document, missed, settings, states, clock, log }: HelloDeps): {
  stop(): void;
} {
  return bus.serve(helloSubject("*"), mastersQueue, async (data, subject) => {
    const peelId = subject.split(".")[2] ?? "";
    try {
      const { version } = checkRequest(data);
      const jobs = missed(peelId, maxCommands);
      if (jobs.length > 0) log.info("peel is sent what it missed", { peel_id: peelId, jobs: jobs.length });
      else log.debug("peel said hello", { peel_id: peelId });
      const told = await settings(peelId, version).catch((thrown): SettingsAnswer | undefined => {
        log.error("settings not told", { peel_id: peelId, reason: describeError(thrown) });
        return undefined;
      });
      return encode({
        server_time: rfc3339(clock.now()),
        cluster_info: document(),
        settings: told?.envelope,
        settings_error: told?.error,
        states: await states(),
        jobs,
        incomplete: told === undefined ? true : undefined,
      });
    } catch (thrown) {
      log[meaningOf(toSvcError(thrown).kind).level]("hello refused", {
        peel_id: peelId,
        reason: describeError(thrown),
      });
      return encodeFailure(thrown);
    }
  });
}

/** Other fields of the map are ignored: later peels may send more. @throws SvcError `bad_request` */
function checkRequest(data: Uint8Array): { version: number } {
  if (data.length > maxRequestBytes) {
    throw new SvcError("bad_request", `a hello must have at most ${maxRequestBytes} bytes`);
  }
  const value = decode(data);
  const isMap = value !== null && typeof value === "object" && !Array.isArray(value);
  if (!isMap || value instanceof Uint8Array) throw new SvcError("bad_request", "a hello must be a map");
  const version = value.settings_version;
  return { version: typeof version === "number" ? version : 0 };
}
