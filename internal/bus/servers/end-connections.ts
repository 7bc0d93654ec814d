import { type ConnectedUser, readConnections } from "./connected-users.ts";

/** Servers end single connections from this version on. Before, they cannot search for the user of a JWT either. */
export const oldestToEnd = "2.10.0";

/**
 * Of how many users at most connections are ended one by one: each costs a request, and claims end all in one pass.
 */
export const maxEnded = 32;

/**
 * A server looks through this number of connections within a tenth of a second when it gets new claims of their account. Then
 * the claims alone do, and a client gets the reason why its connection ends.
 */
export const fewConnections = 500;

/** Connections of one user that a server names in one answer: each has a JWT of up to 2 KiB. */
const maxNamed = 256;
/** How often the remaining ones are counted. */
const rounds = 12;

/** How requests to a server are sent. */
export interface EndingDeps {
  /** Sends a request to all servers and collects their answers. */
  request(subject: string, payload: string): Promise<string[]>;
  /** How many servers answer. */
  total(): number;
  end(id: string): void;
}

/**
 * Ends connections one by one, until all servers answer that none is left. What is ended is what a server of the bus
 * answers: an event may come from the server of a site, which could name any connection in it.
 *
 * @param reported public keys that clients claimed to their servers
 * @param isMeant which of these connections
 * @returns whether all servers answered so
 */
export async function endConnectionsOf(
  { request, total, end }: EndingDeps,
  account: string,
  reported: readonly string[],
  isMeant: (connection: ConnectedUser) => boolean,
): Promise<boolean> {
  const found = async (user: string) => {
    const query = { auth: true, acc: account, user, limit: maxNamed };
    const answers = (await request("$SYS.REQ.SERVER.PING.CONNZ", JSON.stringify(query))).flatMap(
      (text) => readConnections(text) ?? [],
    );
    const ids = answers.flatMap(({ users }) => users.filter(isMeant).map(({ id }) => id));
    return { ids, isComplete: answers.length >= total() };
  };
  for (let round = 0; round < rounds; round++) {
    const all = await Promise.all(reported.map(found));
    const ids = all.flatMap((one) => one.ids);
    if (ids.length === 0) return all.every(({ isComplete }) => isComplete);
    // A server handles this before the next question.
    for (const id of ids) end(id);
  }
  return false;
}
