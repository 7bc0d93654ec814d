import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { sleep, systemClock } from "../internal/base/clock.ts";
import { attempt } from "../internal/base/errors.ts";
import {
  hasEnded,
  identityOf,
  isRunning,
  type ProcessIdentity,
  statOf,
} from "../internal/base/process/process-stat.ts";

// What a target of make started: the programs of its tests are in sessions of their own, and outlive what started them.

/** A process of this machine. */
export interface Running {
  pid: number;
  parent: number;
  /** Whether its environment has the mark. */
  isMarked: boolean;
}

const pauseMs = 100;

/** @returns the processes with the mark, and those that they started with an environment of its own, but not `self` */
export function startedUnder(all: readonly Running[], self: number): number[] {
  const found = new Set<number>();
  const add = (pid: number) => {
    if (pid === self || found.has(pid)) return;
    found.add(pid);
    for (const one of all) if (one.parent === pid) add(one.pid);
  };
  for (const { pid, isMarked } of all) if (isMarked) add(pid);
  return [...found];
}

/**
 * Ends what was started with this mark in its environment: first with SIGTERM, after a while by force.
 *
 * @param mark `NAME=value`
 * @param patienceMs how long programs have to put back what they changed
 * @returns the temporary directories that they worked in, of tests that could not remove them any more
 */
export async function endStarted(mark: string, patienceMs: number): Promise<string[]> {
  const began = systemClock.monotonic();
  const directories = new Set<string>();
  const signaled: ProcessIdentity[] = [];
  for (;;) {
    for (const pid of startedUnder(running(mark), process.pid)) {
      const found = identityOf(pid);
      if (found === undefined || signaled.some((one) => one.pid === pid && one.start === found.start))
        continue;
      signaled.push(found);
      for (const path of temporaryOf(pid)) directories.add(path);
      signal(pid, "SIGTERM");
    }
    // What lacks the mark is no longer found by its parent when that has ended.
    const left = signaled.filter(isRunning);
    if (left.length === 0) return [...directories];
    if (systemClock.monotonic() - began > patienceMs) for (const { pid } of left) signal(pid, "SIGKILL");
    await sleep(systemClock, pauseMs);
  }
}

function running(mark: string): Running[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name): Running[] => {
      const fields = statOf(name);
      if (hasEnded(fields)) return [];
      const isMarked = textOf(`/proc/${name}/environ`).split("\0").includes(mark);
      return [{ pid: Number(name), parent: Number(fields[1]), isMarked }];
    });
}

/** The directories of tests that a process names in its arguments, or works in. */
function temporaryOf(pid: number): string[] {
  const words = textOf(`/proc/${pid}/cmdline`) + attempt(() => readlinkSync(`/proc/${pid}/cwd`), "");
  return [...words.matchAll(/\/[\w/.-]*?\/svc-[\w-]+-\w{6}(?=[/\0]|$)/g)]
    .map(([path]) => path)
    .filter((path) => dirname(path) === tmpdir());
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
