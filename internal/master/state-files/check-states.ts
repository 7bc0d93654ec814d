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
import { createContentSource } from "./content-source.ts";
import type { Stage } from "./decide.ts";

/** A snapshot that does not come into force, because something in it is broken. */
interface RefusedSnapshot {
  environment: string;
  /** `local` where no single commit describes the files. */
  commit: string;
  snapshot: string;
  problems: readonly Finding[];
}

interface StateStageOptions {
  /** `states.check` */
  level: "syntax" | "compile" | "off";
  /** `states.salt_compat` */
  saltCompat: "strict" | "salt" | "bridge";
  /** Called with a snapshot once, when it is refused. */
  onRefused(refused: RefusedSnapshot): void;
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
  refused: RefusedSnapshot | undefined;
  /** The settings that it was refused with; absent when it does not depend on them. */
  version?: unknown;
}

const pause = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The stage that keeps broken state files from coming into force. */
export function createStateStage(options: StateStageOptions): Stage {
  const { level, kinds, clock, log } = options;
  const turns = { pause, now: clock.monotonic };
  const check = createStateCheck(turns);
  const compat = compatOf(options.saltCompat);
  /** The last one of each environment: the same files are the same map. */
  const judgements = new Map<string, Judgement>();
  const compile = async (source: FileSource) => {
    if (level !== "compile") return [];
    const { problems, hints } = await compileForKinds(source, await kinds.read(), { compat, turns });
    for (const hint of hints) {
      log.warn("state files: a hint of the check", {
        environment: source.environment,
        hint: headlineOf(hint),
      });
    }
    return problems;
  };
  const examine = async (candidate: Environment): Promise<Judgement> => {
    const { name, files } = candidate;
    const source = createContentSource(name, files);
    const { problems: broken } = await check.check(source, { compat });
    if (broken.length > 0) return { files, refused: refusalOf(candidate, broken) };
    const version = kinds.version();
    const problems = await compile(source);
    if (problems.length === 0) return { files, refused: undefined };
    return { files, refused: refusalOf(candidate, problems), version };
  };
  return {
    name: "states",
    async judge(candidate) {
      if (level === "off") return undefined;
      const { name, files } = candidate;
      let known = judgements.get(name);
      const isOld = known?.version !== undefined && known.version !== kinds.version();
      if (known?.files !== files || isOld) {
        const before = known?.files === files ? known.refused : undefined;
        known = await examine(candidate);
        judgements.set(name, known);
        const { refused } = known;
        if (refused !== undefined && !Bun.deepEquals(refused, before)) options.onRefused(refused);
      }
      if (known.refused === undefined) return undefined;
      const command = `svc state lint${known.version === undefined ? "" : " --check compile"}`;
      return summaryOf(known.refused.problems, command);
    },
  };
}

function refusalOf({ name, origin, files }: Environment, problems: readonly Finding[]): RefusedSnapshot {
  const [only, ...others] = origin.commits;
  const isCommit = only !== undefined && others.length === 0 && !origin.directory;
  return {
    environment: name,
    commit: isCommit ? only.commit : "local",
    snapshot: snapshotOf(files),
    problems,
  };
}
