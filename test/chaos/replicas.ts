import { sleep, systemClock } from "../../internal/base/clock.ts";
import { stuckStreams } from "./check/replicas.ts";
import type { FinalState } from "./history.ts";
import type { BusServer } from "./servers.ts";

const betweenChecksMs = 1_000;

interface StoredStreams {
  account_details?: {
    stream_detail?: {
      name: string;
      state: { messages: number; bytes: number; first_seq: number; last_seq: number };
    }[];
  }[];
}

/** Each stream as each server stores it. */
export async function readReplicas(servers: readonly BusServer[]): Promise<FinalState["replicas"]> {
  return (await Promise.all(servers.map(replicasOf))).flat();
}

/**
 * Looks at the replicas after a fault, and notes the streams of which they differ.
 *
 * @param at when that fault began
 * @param differing by stream: since which fault; a stream whose replicas are equal again is removed
 */
export async function noteReplicas(
  servers: readonly BusServer[],
  at: number,
  differing: Record<string, number>,
): Promise<void> {
  const first = await readReplicas(servers);
  await sleep(systemClock, betweenChecksMs);
  const stuck = stuckStreams(first, await readReplicas(servers));
  for (const stream of Object.keys(differing)) if (!stuck.has(stream)) delete differing[stream];
  for (const stream of stuck) differing[stream] ??= at;
}

async function replicasOf({ monitor, host }: BusServer): Promise<FinalState["replicas"][number][]> {
  const answer = await fetch(`${monitor}/jsz?accounts=true&streams=true`).catch(() => undefined);
  const { account_details = [] } = ((await answer?.json()) ?? {}) as StoredStreams;
  return account_details
    .flatMap(({ stream_detail = [] }) => stream_detail)
    .map(({ name, state: { messages, bytes, first_seq, last_seq } }) => ({
      stream: name,
      server: host.name,
      messages,
      bytes,
      first: first_seq,
      last: last_seq,
    }));
}
