import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import {
  compatOf,
  compileForKinds,
  createStateCheck,
  type Finding,
  headlineOf,
  type Kinds,
  summaryOf,
} from "../../tree/check/mod.ts";
import { type Contents, type FileSource, snapshotOf } from "../../tree/files/mod.ts";
import type { Environment } from "../../tree/publication/mod.ts";
import { localCommit } from "../../wire/content-words.ts";
import { createContentSource } from "./content-source.ts";
import type { Stage } from "./decide.ts";

/** What the check found in a snapshot. One with problems does not come into force. */
export interface CheckedSnapshot {
  environment: string;
  /** `local` where no single commit describes the files. */
  commit: string;
  snapshot: string;
  problems: readonly Finding[];
  /** What a person should look at. */
  hints: readonly Finding[];
  /** Whether the files come into force anyway when an operator releases them. */
  yields?: boolean;
}

/** The stage, and what it found. */
export interface StateStage extends Stage {
  /** In the newest files of an environment; `undefined` where nothing was found. */
  found(environment: string): CheckedSnapshot | undefined;
}

interface StateStageOptions {
  /** `states.check` */
  level: "syntax" | "compile" | "off";
  /** `states.salt_compat` */
  saltCompat: "strict" | "salt" | "bridge";
  /** Whether it is that of the newest release of an environment. */
  isReleased(environment: string, snapshot: string): boolean;
  /** Called with a snapshot once, when it is refused. */
  onRefused(refused: CheckedSnapshot): void;
  /** What `compile` compiles for. */
  kinds: {
    read(): Promise<Kinds>;
    /** Another one when other settings are in force: what was refused because of them is compiled again. */
    version(): unknown;
  };
  clock: Pick<Clock, "monotonic">;
  log: Pick<Log, "warn">;
}

interface Judgement {
  files: Contents;
  found: CheckedSnapshot | undefined;
  /** The settings that it was refused with; absent when it does not depend on them. */
  version?: unknown;
}

const isRefused = (found: CheckedSnapshot | undefined): found is CheckedSnapshot =>
  found !== undefined && found.problems.length > 0;

const pause = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The stage that keeps broken state files from coming into force. */
export function createStateStage(options: StateStageOptions): StateStage {
  const { level, kinds, clock, log } = options;
  const turns = { pause, now: clock.monotonic };
  const check = createStateCheck(turns);
  const compat = compatOf(options.saltCompat);
  /** The last one of each environment: the same files are the same map. */
  const judgements = new Map<string, Judgement>();
  const compile = async (source: FileSource) => {
    if (level !== "compile") return { problems: [], hints: [] };
    const { problems, hints } = await compileForKinds(source, await kinds.read(), { compat, turns });
    for (const hint of hints) {
      log.warn("state files: a hint of the check", {
        environment: source.environment,
        hint: headlineOf(hint),
      });
    }
    return { problems, hints };
  };
  const examine = async (candidate: Environment): Promise<Judgement> => {
    const { name, files } = candidate;
    const source = createContentSource(name, files);
    const { problems: broken } = await check.check(source, { compat });
    if (broken.length > 0) return { files, found: foundIn(candidate, { problems: broken, hints: [] }) };
    const version = kinds.version();
    const { problems, hints } = await compile(source);
    if (problems.length + hints.length === 0) return { files, found: undefined };
    if (problems.length === 0) return { files, found: foundIn(candidate, { problems, hints }) };
    return { files, found: foundIn(candidate, { problems, hints, yields: true }), version };
  };
  return {
    name: "states",
    found: (environment) => judgements.get(environment)?.found,
    async judge(candidate) {
      if (level === "off") return undefined;
      const { name, files } = candidate;
      let known = judgements.get(name);
      const isOld = known?.version !== undefined && known.version !== kinds.version();
      if (known?.files !== files || isOld) {
        const before = known?.files === files ? known.found : undefined;
        known = await examine(candidate);
        judgements.set(name, known);
        const { found } = known;
        if (isRefused(found) && !Bun.deepEquals(found, before)) options.onRefused(found);
      }
      if (!isRefused(known.found)) return undefined;
      // The compiled kinds are a sample: who releases the files has seen what does not compile.
      if (known.found.yields === true && options.isReleased(name, known.found.snapshot)) return undefined;
      const command = `svc state lint${known.version === undefined ? "" : " --check compile"}`;
      return summaryOf(known.found.problems, command);
    },
  };
}

function foundIn(
  { name, origin, files }: Environment,
  findings: Pick<CheckedSnapshot, "problems" | "hints" | "yields">,
): CheckedSnapshot {
  const [only, ...others] = origin.commits;
  const isCommit = only !== undefined && others.length === 0 && !origin.directory;
  return {
    environment: name,
    commit: isCommit ? only.commit : localCommit,
    snapshot: snapshotOf(files),
    ...findings,
  };
}
