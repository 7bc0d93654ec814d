import { existsSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { runProcess } from "../../base/process/process.ts";
import { findServer, systemPath } from "../../bus/server/mod.ts";

const timeoutMs = 10_000;
const answer = v.object({ version: v.string(), path: v.optional(v.string()) });

/**
 * The version of the nats-server that a master on this host will run: the one inside `svc-master`, or the
 * first on the path.
 *
 * @param programs directory of `svc-master`
 * @returns `undefined` when there is none, or it cannot be found out
 */
export async function busVersion(
  programs: string,
  { env, clock }: { env: Readonly<Record<string, string | undefined>>; clock: Clock },
): Promise<string | undefined> {
  const searchPath = `${env.PATH ?? ""}:${systemPath}`;
  const own = await requestMaster(join(programs, "svc-master"), searchPath, clock);
  return own?.version ?? (await find(searchPath, clock))?.version;
}

/**
 * The nats-server that a master on this host will run, as a file.
 *
 * @param programs directory of `svc-master`
 * @param directory where a server from inside `svc-master` is unpacked to
 * @throws SvcError `bad_request` when there is none
 */
export async function busProgram(
  programs: string,
  directory: string,
  { env, clock }: { env: Readonly<Record<string, string | undefined>>; clock: Clock },
): Promise<string> {
  const searchPath = `${env.PATH ?? ""}:${systemPath}`;
  const unpack = ["--unpack", directory];
  const own = await requestMaster(join(programs, "svc-master"), searchPath, clock, unpack);
  const path = own?.path ?? (await find(searchPath, clock))?.path;
  if (path !== undefined) return path;
  throw new SvcError(
    "bad_request",
    "no nats-server to read the backup with: install one on the PATH, or put svc-master next to svc",
  );
}

/** @returns `undefined` where there is none, or it carries no server */
async function requestMaster(
  program: string,
  searchPath: string,
  clock: Clock,
  flags: readonly string[] = [],
): Promise<v.InferOutput<typeof answer> | undefined> {
  if (!existsSync(program)) return undefined;
  try {
    const argv = [program, "bus-server", "--output", "json", ...flags];
    const run = await runProcess({ argv, env: { PATH: searchPath }, cwd: "/", timeoutMs, clock });
    return run.code === 0 ? v.parse(answer, JSON.parse(run.stdout.text)) : undefined;
  } catch {
    return undefined;
  }
}

async function find(
  searchPath: string,
  clock: Clock,
): Promise<{ version: string; path: string } | undefined> {
  try {
    const options = { explicit: "", carried: undefined, directory: "/", searchPath, clock };
    return await findServer(options);
  } catch {
    return undefined;
  }
}
