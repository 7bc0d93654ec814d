import * as v from "valibot";
import { readClaims } from "../identity/mod.ts";

// The users of an account that are connected, as the servers report them (NATS documents "System events" and
// "Monitoring", CONNZ).

/** A connected user of an account. */
export interface ConnectedUser {
  /** Its key, `U…`. */
  user: string;
  /** The name in its JWT, which the server has verified; empty when there is none. */
  name: string;
  jwt: string;
}

/** Connections that one server reports in one message: each has a JWT of up to 2 KiB. */
const pageLength = 256;
/** More pages than a server with 65,536 connections has. */
const mostPages = 256;

const connectionsReply = v.object({
  data: v.object({
    total: v.number(),
    connections: v.optional(
      v.nullable(
        v.array(
          v.object({
            authorized_user: v.optional(v.string(), ""),
            name_tag: v.optional(v.string(), ""),
            jwt: v.optional(v.string(), ""),
          }),
        ),
      ),
    ),
  }),
});

/**
 * Asks every server for the connected users of an account.
 *
 * @param ask sends a request to all servers and collects their answers
 */
export async function listConnectedUsers(
  account: string,
  ask: (subject: string, payload: string) => Promise<string[]>,
): Promise<ConnectedUser[]> {
  const found: ConnectedUser[] = [];
  for (let page = 0; page < mostPages; page++) {
    const offset = page * pageLength;
    const query = { auth: true, acc: account, offset, limit: pageLength };
    const replies = await ask("$SYS.REQ.SERVER.PING.CONNZ", JSON.stringify(query));
    let isMore = false;
    for (const reply of replies) {
      const parsed = v.safeParse(connectionsReply, readJson(reply));
      if (!parsed.success) continue;
      const { total, connections } = parsed.output.data;
      for (const { authorized_user: user, name_tag: tag, jwt } of connections ?? []) {
        if (user !== "") found.push({ user, name: nameOfUser(jwt, tag), jwt });
      }
      isMore ||= total > offset + pageLength;
    }
    if (!isMore) break;
  }
  return found;
}

/**
 * The name of a user. Servers of version 2.9 report it as tag; newer ones report the name of the account there.
 *
 * @param jwt of the user, which the server has verified; empty when it was not reported
 */
export function nameOfUser(jwt: string, tag: string): string {
  try {
    const { name } = readClaims(jwt);
    return typeof name === "string" ? name : tag;
  } catch {
    return tag;
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
