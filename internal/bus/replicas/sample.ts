import { NatsError } from "nats";
import { sha256Hex } from "../../base/sha256.ts";
import type { Bus } from "../connection/mod.ts";
import type { Difference } from "./compare.ts";
import type { ReplicatedStream } from "./inspect.ts";

const timeoutMs = 3_000;
/** How many messages of a stream are compared. */
const sampleSize = 32;

/** What a server answered at each position: sequence and digest of the next message, or that there is none. */
export type Sample = readonly string[];

/**
 * Positions spread over what all replicas hold.
 *
 * @param offset in [0, 1): moves all positions, so that repeated checks see other messages
 */
export function samplePositions({ replicas }: ReplicatedStream, offset: number): number[] {
  const all = [...replicas.values()];
  const first = Math.max(1, ...all.map((replica) => replica.first));
  const last = Math.min(...all.map((replica) => replica.last));
  const step = Math.max(1, (last - first + 1) / sampleSize);
  const positions: number[] = [];
  for (let at = first + offset * step; at < last + 1 && positions.length < sampleSize; at += step) {
    positions.push(Math.floor(at));
  }
  return positions;
}

/**
 * Reads a sample of the replica on the connected server by direct get, which a server with a replica answers
 * itself (NATS document ADR-31).
 *
 * @returns `undefined` when it does not answer
 */
export async function readSample(
  { nats }: Pick<Bus, "nats">,
  stream: string,
  positions: readonly number[],
): Promise<Sample | undefined> {
  const sample: string[] = [];
  try {
    for (const seq of positions) {
      const query = JSON.stringify({ seq, next_by_subj: ">" });
      const { headers, data } = await nats.request(`$JS.API.DIRECT.GET.${stream}`, query, {
        timeout: timeoutMs,
      });
      const sequence = headers?.get("Nats-Sequence") ?? "";
      // Everything but the header of the protocol itself, which holds nothing else than this.
      const content = Buffer.concat([Buffer.from(`${headers?.get("Nats-Subject") ?? ""}\n`), data]);
      sample.push(sequence === "" ? "none" : `${sequence} ${sha256Hex(content)}`);
    }
  } catch (thrown) {
    if (thrown instanceof NatsError) return undefined;
    throw thrown;
  }
  return sample;
}

/**
 * Finds the servers whose sample differs from that of the others, in several samples at the same positions. Where
 * the answer of any server changed between two samples, messages are replaced or expire while they are read, and
 * the server that is read last has other ones each time: such a position proves nothing. Where most servers seem
 * to differ, none is named alone: one of them may have passed reads to another server.
 *
 * @param leader is right where no two servers agree
 */
export function compareSamples(
  stream: string,
  leader: string,
  positions: readonly number[],
  samples: readonly ReadonlyMap<string, Sample>[],
): Difference[] {
  const [latest] = samples.toReversed();
  if (latest === undefined) return [];
  const found = new Map<string, number>();
  for (const [i, position] of positions.entries()) {
    const isStill = [...latest].every(([server, sample]) =>
      samples.every((other) => other.get(server)?.[i] === sample[i]),
    );
    if (!isStill) continue;
    for (const server of minorityAt(latest, leader, i)) found.set(server, found.get(server) ?? position);
  }
  const servers = [...found.keys()];
  const [at = 0] = [...found.values()].toSorted((one, other) => one - other);
  if (servers.length > 1 && servers.length * 2 > latest.size) {
    const named = servers.toSorted().join(", ");
    const message = `${stream} has other messages on one of ${named}, first seen at sequence ${at}`;
    return [{ stream, server: named, message, unclear: true }];
  }
  return [...found].map(([server, position]) => ({
    stream,
    server,
    message: `${stream} on ${server} has other messages than the other servers, first seen at sequence ${position}`,
  }));
}

/** The servers that do not hold at a position what most servers hold there. */
function minorityAt(samples: ReadonlyMap<string, Sample>, leader: string, i: number): Set<string> {
  const votes = new Map<string, number>();
  for (const [server, sample] of samples) {
    const value = sample[i] ?? "none";
    votes.set(value, (votes.get(value) ?? 0) + 1 + (server === leader ? 0.5 : 0));
  }
  const [right] = [...votes].toSorted(([, one], [, other]) => other - one);
  return new Set(
    [...samples].flatMap(([server, sample]) => ((sample[i] ?? "none") === right?.[0] ? [] : [server])),
  );
}
