import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../../harness/fleet.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { fileTree } from "../states/trees.ts";
import { costOf, type Run, tableOfRuns } from "./cost.ts";
import { enginesFor } from "./policies.ts";
import type { Peers } from "./programs.ts";

/**
 * Files with a source of their own each, brought about by each engine without a server: those that are there
 * already, and all of them for the first time.
 *
 * @param count files
 */
export async function filesRows(peers: Peers, count: number, rounds: number): Promise<string> {
  using scratch = temporaryDirectory("bench-peers-files");
  const tree = fileTree(scratch.path, count);
  const own: Run = {
    name: "svc-peel call --local",
    argv: () => [
      ...[binaries.peel, "call", "--local", "--states", tree.states, "state.highstate"],
      ...["--output", "json"],
    ],
    env: { SVC_DATA_DIR: join(scratch.path, "peel") },
  };
  mkdirSync(join(scratch.path, "peel"));
  const runs = [own, ...enginesFor(peers, tree, scratch.path)];
  const clear = () => {
    rmSync(tree.out, { recursive: true, force: true });
    mkdirSync(tree.out);
  };
  const made = runs.map((run) => ({ ...run, before: clear }));
  // Once each before it counts: caches of their own are made by the first run.
  for (const run of made) await costOf(run);
  return [
    `${count} files, no change\n\n${await tableOfRuns(runs, rounds)}`,
    `${count} files, created\n\n${await tableOfRuns(made, rounds)}`,
  ].join("\n\n");
}
