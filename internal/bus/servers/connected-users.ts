import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { readClaims } from "../../identity/mod.ts";
import { readAnswer } from "./read-answer.ts";

// The users of an account that are connected, as the servers report them (NATS documents "System events" and
// "Monitoring", CONNZ).

/** A connected user of an account. */
export interface ConnectedUser {
  /** Of this connection: unique in the cluster while its server runs. */
  id: string;
  /** Its key, `U…`: that of its JWT, which the server has verified. */
  user: string;
  /** The name in its JWT; empty when there is none. */
  name: string;
  jwt: string;
  /** The key that the client claimed to its server, which searches by it: a hostile client claims another one. */
  reported: string;
  /** When it began, milliseconds since the Unix epoch by the clock of its server; absent where that is not reported. */
  startedAt?: number;
  /** From where it connected, as its server saw it; absent where that is not reported. */
  address?: string;
}

/** Connections that one server reports in one message: each has a JWT of up to 2 KiB. */
const pageLength = 256;
/** More pages than a server with 65,536 connections has. */
const maxPages = 256;

/** When a connection began; absent where it cannot be read. */
export const startField = v.fallback(
  v.optional(
    v.pipe(
      v.string(),
      v.transform((text) => Date.parse(text)),
      v.number(),
    ),
  ),
  undefined,
);

const connectionsReply = v.object({
  server: v.object({ id: v.string() }),
  data: v.object({
    total: v.number(),
    connections: v.optional(
      v.nullable(
        v.array(
          v.object({
            cid: v.number(),
            authorized_user: v.optional(v.string(), ""),
            name_tag: v.optional(v.string(), ""),
            jwt: v.optional(v.string(), ""),
            ip: v.optional(v.string()),
            start: startField,
          }),
        ),
      ),
    ),
  }),
});

/** The connected users of an account, and whether every server answered. */
export interface ConnectedUsers {
  users: ConnectedUser[];
  isComplete: boolean;
}

/**
 * Asks every server for the connected users of an account. A server decodes and verifies the JWT of each of them.
 *
 * @param request sends a request to all servers and collects their answers
 * @param total how many servers answer
 */
export async function listConnectedUsers(
  account: string,
  request: (subject: string, payload: string) => Promise<string[]>,
  total: () => number,
): Promise<ConnectedUsers> {
  const users: ConnectedUser[] = [];
  let isComplete = true;
  for (let page = 0; page < maxPages; page++) {
    const offset = page * pageLength;
    const query = { auth: true, acc: account, offset, limit: pageLength };
    const replies = await request("$SYS.REQ.SERVER.PING.CONNZ", JSON.stringify(query));
    isComplete &&= replies.length >= total();
    let isMore = false;
    for (const reply of replies) {
      const found = readConnections(reply);
      if (found === undefined) continue;
      users.push(...found.users.filter(({ reported }) => reported !== ""));
      isMore ||= found.total > offset + pageLength;
    }
    if (!isMore) break;
  }
  return { users, isComplete };
}

/** Reads what one server answers to CONNZ. @returns `undefined` for anything else; `total` counts those of all pages */
export function readConnections(text: string): { users: ConnectedUser[]; total: number } | undefined {
  const answer = readAnswer(connectionsReply, text);
  if (answer === undefined) return undefined;
  const { server, data } = answer;
  const users = (data.connections ?? []).map(
    ({ cid, authorized_user: reported, name_tag: tag, jwt, ip, start }) => ({
      id: connectionId(server.id, cid),
      ...readUser(reported, jwt, tag),
      ...defined({ startedAt: start, address: ip }),
    }),
  );
  return { users, total: data.total };
}

/** @param cid of the client, as its server counts them */
export const connectionId = (server: string, cid: number): string => `${server} ${cid}`;

/**
 * Who a connection is. A server reports the key that the client named next to its JWT, and does not compare the two.
 *
 * @param reported the key that the server reports
 * @param jwt of the user, which the server has verified; empty when it was not reported
 * @param tag the name, as servers of version 2.9 report it; newer ones report the name of the account there
 */
export function readUser(reported: string, jwt: string, tag: string): Omit<ConnectedUser, "id"> {
  try {
    const { sub: user, name } = readClaims(jwt);
    return { user, name: typeof name === "string" ? name : tag, jwt, reported };
  } catch {
    return { user: reported, name: tag, jwt, reported };
  }
}
