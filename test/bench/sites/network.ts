import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram, startProgram } from "../../harness/process.ts";

/** Words that run a program in a network namespace. */
export const inNamespace = (name: string): string[] => ["ip", "netns", "exec", name];

/** A place with peels, behind a slow link. */
export interface Place {
  name: string;
  /** Its network namespace. */
  namespace: string;
  /** The end of its link in the namespace of the masters, and the addresses of both ends. */
  device: string;
  near: string;
  far: string;
}

export interface Network extends AsyncDisposable {
  hub: string;
  places: Place[];
}

async function run(...words: string[]): Promise<void> {
  const { code, stderr } = await runProgram(words);
  if (code !== 0) throw new Error(`${words.join(" ")}: ${stderr}`);
}

/**
 * Makes namespaces: one for the masters, and one for each place, with a link that delays and loses packets.
 *
 * @param roundTripMs of each link
 * @param lossPercent of packets in each direction
 */
export async function createNetwork(
  names: readonly string[],
  { roundTripMs, lossPercent }: { roundTripMs: number; lossPercent: number },
): Promise<Network> {
  const tag = `svc${process.pid}`;
  const hub = `${tag}-hub`;
  const places = names.map((name, at) => ({
    name,
    namespace: `${tag}-${name}`,
    device: `to-${name}`,
    near: `10.99.${at + 1}.1`,
    far: `10.99.${at + 1}.2`,
  }));
  await using stack = new AsyncDisposableStack();
  const within = (namespace: string, ...words: string[]) => run(...inNamespace(namespace), ...words);
  for (const name of [hub, ...places.map(({ namespace }) => namespace)]) {
    await run("ip", "netns", "add", name);
    stack.defer(() => run("ip", "netns", "delete", name));
    await within(name, "ip", "link", "set", "lo", "up");
  }
  for (const { namespace, device, near, far } of places) {
    const link = startProgram([
      ...["python3", join(import.meta.dir, "wide-link.py"), hub, device, namespace, "wide"],
      ...[`${roundTripMs / 2}`, `${lossPercent}`],
    ]);
    stack.use(link);
    await link.waitFor("open");
    await within(hub, "ip", "addr", "add", near, "peer", far, "dev", device);
    await within(namespace, "ip", "addr", "add", far, "peer", near, "dev", "wide");
    await within(hub, "ip", "link", "set", device, "up");
    await within(namespace, "ip", "link", "set", "wide", "up");
    await within(namespace, "ip", "route", "add", "default", "via", near);
  }
  const made = stack.move();
  return { hub, places, [Symbol.asyncDispose]: () => made.disposeAsync() };
}

/** What a link has carried, bytes, from the masters and to them. It is read in the namespace of the masters. */
export function carried(devices: readonly string[]): { down: number; up: number } {
  const lines = readFileSync("/proc/self/net/dev", "utf8").split("\n");
  const sum = { down: 0, up: 0 };
  for (const line of lines) {
    const [name = "", ...fields] = line.trim().split(/[:\s]+/);
    if (!devices.includes(name)) continue;
    sum.up += Number(fields[0]);
    sum.down += Number(fields[8]);
  }
  return sum;
}
