import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory } from "../../internal/base/files/file.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { eventSubject } from "../../internal/bus/subjects/subjects.ts";
import { decodeJob, type Job } from "../../internal/fleet/jobs/records/record.ts";
import { temporaryDirectory } from "./temporary.ts";
import { until } from "./until.ts";

/** A directory of rules, and the part of a master's configuration that names it. */
export interface RulesDirectory extends Disposable {
  readonly path: string;
  /** Replaces a file of rules. */
  write(name: string, text: string): void;
  config(more?: Record<string, unknown>): { reactor: Record<string, unknown> };
}

export function rulesDirectory(rules: string, name = "rules.yaml"): RulesDirectory {
  const files = temporaryDirectory("rules");
  const path = join(files.path, "reactor");
  if (!existsSync(path)) makeDirectory(path, 0o700);
  const write = (file: string, text: string) => writeFileSync(join(path, file), text);
  write(name, rules);
  return {
    path,
    write,
    config: (more = {}) => ({ reactor: { dir: path, ...more } }),
    [Symbol.dispose]: () => files[Symbol.dispose](),
  };
}

/** Sends an event as a peel. @returns its sequence in the stream */
export async function sendEvent(
  { nats }: Pick<Bus, "nats">,
  peel: string,
  tag: string,
  data: Record<string, unknown> = {},
): Promise<number> {
  const reply = await nats.request(eventSubject(peel, tag.split("/").join(".")), encode({ data }), {
    timeout: 30_000,
  });
  const { seq, error } = reply.json<{ seq?: number; error?: { description: string } }>();
  if (seq === undefined) throw new Error(error?.description ?? "no acknowledgement");
  return seq;
}

type Sample = Map<string, number>;

/** The sum of the reactor metrics of masters, with keys such as `svc_reactor_fires_total{rule="a"}`. */
export async function figures(...masters: { healthUrl: string }[]): Promise<Sample> {
  const found: Sample = new Map();
  for (const { healthUrl } of masters) {
    const text = await (await fetch(`${healthUrl}/metrics`)).text();
    for (const [, name = "", value = ""] of text.matchAll(/^(svc_reactor_[^ ]+) (\S+)$/gm)) {
      found.set(name, (found.get(name) ?? 0) + Number(value));
    }
  }
  return found;
}

/** What was counted since the start; without gauges, which a master sets whenever it starts or stops to react. */
export function counted(sample: Sample): Sample {
  return new Map([...sample].filter(([name]) => name.replace(/\{.*/, "").endsWith("_total")));
}

/** The sum over a counter with any labels. */
export function total(sample: Sample, name: string, label = ""): number {
  let sum = 0;
  for (const [key, value] of sample) {
    if ((key === name || key.startsWith(`${name}{`)) && key.includes(label)) sum += value;
  }
  return sum;
}

/** Polls the metrics until they have the expected values. */
export function figuresBecome(
  masters: readonly { healthUrl: string }[],
  isWanted: (sample: Sample) => boolean,
): Promise<Sample> {
  return until(() => figures(...masters), isWanted, 120_000);
}

/** Follows the bucket of jobs from its beginning. */
export async function followJobs(bus: Bus): Promise<{
  jobs: ReadonlyMap<string, Job>;
  /** How often a job was created, by its id: what was removed and made again counts twice. */
  created: ReadonlyMap<string, number>;
  until(isWanted: (jobs: ReadonlyMap<string, Job>) => boolean): Promise<void>;
  stop(): void;
}> {
  const jobs = new Map<string, Job>();
  const created = new Map<string, number>();
  const waiting = new Set<() => void>();
  const bucket = await openBucket(bus, "jobs");
  const watch = bucket.watch(({ key, value }) => {
    if (value === undefined) return;
    if (!jobs.has(key)) created.set(key, (created.get(key) ?? 0) + 1);
    jobs.set(key, decodeJob(value));
    for (const check of waiting) check();
  });
  await watch.ready;
  return {
    jobs,
    created,
    until: (isWanted) =>
      new Promise((resolve) => {
        const check = () => {
          if (!isWanted(jobs)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    stop: () => watch.stop(),
  };
}

/** What the rule behind a job says in its metadata. */
export function reactionOf({ metadata }: Job): { rule: string; event: string; depth: number } | undefined {
  return metadata.reactor as { rule: string; event: string; depth: number } | undefined;
}

/** Which master holds the lease of the reactor, once one does. */
export async function holderBecomes(
  bus: Bus,
  isWanted: (holder: string) => boolean = () => true,
): Promise<string> {
  const leases = await openBucket(bus, "leases");
  const found = Promise.withResolvers<string>();
  const watch = leases.watch(({ key, value }) => {
    if (key !== "reactor" || value === undefined) return;
    const { holder } = decode(value) as { holder: string };
    if (isWanted(holder)) found.resolve(holder);
  });
  const holder = await found.promise;
  watch.stop();
  return holder;
}

/** Looks at the check `reactor` of a master until it has this status. */
export async function reactorBecomes(
  { healthUrl }: { healthUrl: string },
  wanted: "up" | "degraded" | "down",
): Promise<{ status: string; message?: string }> {
  const check = async () => {
    const { checks } = (await (await fetch(`${healthUrl}/readyz`)).json()) as {
      checks: { reactor?: { status: string; message?: string } };
    };
    return checks.reactor ?? { status: "missing" };
  };
  return until(check, ({ status }) => status === wanted);
}

/** Whether a master holds the lease of the reactor. */
export async function reacts({ healthUrl }: { healthUrl: string }): Promise<boolean> {
  const text = await (await fetch(`${healthUrl}/metrics`)).text();
  return text.includes('svc_lease_held{lease="reactor"} 1');
}
