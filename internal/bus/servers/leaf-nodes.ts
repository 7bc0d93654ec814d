import * as v from "valibot";
import { readAnswer } from "./read-answer.ts";

/** A server that is linked to this bus without being one of its servers (NATS documents "Leaf nodes"). */
export interface LeafNode {
  /** Name of the server of the bus that it is linked to. */
  server: string;
  /** The name that it gives itself. */
  name: string;
  /** Public key of the account of the link. */
  account: string;
  /** As the server of the bus measures it. */
  roundTripMs: number;
}

const reply = v.object({
  server: v.object({ name: v.string() }),
  data: v.object({
    leafs: v.optional(
      v.array(
        v.object({
          name: v.optional(v.string(), ""),
          account: v.string(),
          rtt: v.optional(v.string(), ""),
        }),
      ),
      [],
    ),
  }),
});

/**
 * The leaf nodes that are linked to the servers of the bus.
 *
 * @param request sends a request to all servers and collects their answers
 * @returns `undefined` when no server answered
 */
export async function listLeafNodes(
  request: (subject: string, payload: string) => Promise<string[]>,
): Promise<LeafNode[] | undefined> {
  const replies = (await request("$SYS.REQ.SERVER.PING.LEAFZ", "{}")).flatMap(
    (text) => readAnswer(reply, text) ?? [],
  );
  if (replies.length === 0) return undefined;
  return replies.flatMap(({ server, data }) =>
    data.leafs.map(({ name, account, rtt }) => ({
      server: server.name,
      name,
      account,
      roundTripMs: milliseconds(rtt),
    })),
  );
}

/** A duration as servers write it: `1.5ms`, `477µs`, `1m2.5s`. */
function milliseconds(text: string): number {
  const factors: Readonly<Record<string, number>> = { ns: 1e-6, µs: 1e-3, ms: 1, s: 1_000, m: 60_000 };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ns|µs|ms|s|m)/g)];
  const sum = parts.reduce(
    (total, [, number, unit = ""]) => total + Number(number) * (factors[unit] ?? 0),
    0,
  );
  return Math.round(sum * 1_000) / 1_000;
}
