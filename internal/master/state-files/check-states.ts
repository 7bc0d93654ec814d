import type { Clock } from "../../base/clock.ts";
import { compatOf, createStateCheck, type Finding, summaryOf } from "../../tree/check/mod.ts";
import { type Contents, snapshotOf } from "../../tree/files/mod.ts";
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
  level: "syntax" | "off";
  /** `states.salt_compat` */
  saltCompat: "strict" | "salt" | "bridge";
  /** Called with a snapshot once, when it is refused. */
  onRefused(refused: RefusedSnapshot): void;
  clock: Pick<Clock, "monotonic">;
}

interface Judgement {
  files: Contents;
  refused: RefusedSnapshot | undefined;
}

const pause = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The stage that keeps broken state files from coming into force. */
export function createStateStage(options: StateStageOptions): Stage {
  const { level, clock } = options;
  const check = createStateCheck({ pause, now: clock.monotonic });
  const compat = compatOf(options.saltCompat);
  /** The last one of each environment: the same files are the same map. */
  const judgements = new Map<string, Judgement>();
  const examine = async ({ name, files }: Environment): Promise<readonly Finding[]> =>
    (await check.check(createContentSource(name, files), { compat })).problems;
  return {
    name: "states",
    async judge(candidate) {
      if (level === "off") return undefined;
      const { name, files } = candidate;
      let known = judgements.get(name);
      if (known?.files !== files) {
        const problems = await examine(candidate);
        const refused = problems.length === 0 ? undefined : refusalOf(candidate, problems);
        known = { files, refused };
        judgements.set(name, known);
        if (refused !== undefined) options.onRefused(refused);
      }
      return known.refused === undefined ? undefined : summaryOf(known.refused.problems, "svc state lint");
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
