import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { digestOfFile } from "../../host/binary/mod.ts";
import { afterEvent, type StagedUpgrade, type UpgradeEvent, upgradeFiles } from "../upgrade/mod.ts";

type State = ReturnType<ReturnType<typeof upgradeFiles>["state"]>;

/** Which executable the peel has, and what becomes of upgrades, on disk before it happens. */
export interface UpgradeRecord {
  readonly state: State;
  /** Path of the executable with this digest. */
  binary(sha256: string): string;
  /** @returns whether the state was written. In memory it changes in any case. */
  note(event: UpgradeEvent): boolean;
  /** A package that was installed since then takes precedence over an upgraded binary. */
  checkCurrent(): Promise<void>;
  /** Removes a request that a watchdog claimed before it died. */
  dropKnownRequest(): void;
  /** Claims the binary that the peel has staged, if it is usable. @returns whether a trial begins */
  claim(): Promise<boolean>;
  commit(staged: StagedUpgrade): void;
}

/** @throws SvcError `storage` when the state cannot be read */
export function openUpgradeRecord(options: {
  program: string;
  dataDir: string;
  clock: Clock;
  log: Log;
}): UpgradeRecord {
  const { program, clock, log } = options;
  const files = upgradeFiles(options.dataDir);
  let state = files.state();
  /** Digest of the packaged executable, once it was needed. */
  let packaged = "";

  const note = (event: UpgradeEvent): boolean => {
    const next = afterEvent(state, event, clock.now());
    if (next === state) return true;
    state = next;
    try {
      files.writeState(state);
      return true;
    } catch (thrown) {
      log.error("the state of upgrades cannot be written", { error: describeError(thrown) });
      return false;
    }
  };
  return {
    get state() {
      return state;
    },
    binary: files.binary,
    note,
    async checkCurrent() {
      const { current } = state;
      if (current === undefined) return;
      packaged = await digestOfFile(program);
      note({ kind: "packaged", sha256: packaged });
      const { version } = current;
      if (state.current === undefined) {
        log.info("the packaged peel was renewed and is used again", { instead_of: version });
        return;
      }
      const digest = await digestOfFile(files.binary(current.sha256)).catch(() => undefined);
      if (digest === current.sha256) return;
      log.error("the binary of the last upgrade is gone or damaged; using the packaged one", { version });
      note({ kind: "unusable" });
    },
    dropKnownRequest() {
      const staged = files.request();
      if (staged !== undefined && staged.jid === state.outcome?.jid) files.removeRequest();
    },
    async claim() {
      const staged = files.request();
      if (staged === undefined) return false;
      const before = state;
      const verified = await verify(program, files.binary(staged.sha256), staged);
      if ("packaged" in verified) packaged = verified.packaged;
      const isKept = note(
        "packaged" in verified ? { kind: "requested", staged } : { kind: "refused", staged, ...verified },
      );
      // Do not begin a trial that is not recorded for the next watchdog.
      if (!isKept) state = before;
      files.removeRequest();
      const { jid, version, from } = staged;
      if (state.trial === undefined) log.error("upgrade refused", { jid, reason: state.outcome?.reason });
      else log.info("upgrade begins", { jid, version, from });
      return state.trial !== undefined;
    },
    commit({ jid, version, from }) {
      note({ kind: "settled", packaged });
      log.info("upgrade committed", { jid, version, from });
    },
  };
}

/** @returns the digest of the packaged executable, or why the staged one cannot replace it */
async function verify(
  program: string,
  binary: string,
  { sha256 }: StagedUpgrade,
): Promise<{ packaged: string } | { reason: string }> {
  try {
    const packaged = await digestOfFile(program);
    return (await digestOfFile(binary)) === sha256
      ? { packaged }
      : { reason: "the staged binary has changed since it was staged" };
  } catch (thrown) {
    return { reason: `the staged binary cannot be verified: ${describeError(thrown)}` };
  }
}
