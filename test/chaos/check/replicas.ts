import type { Check, FinalState } from "../history.ts";

type Replica = FinalState["replicas"][number];

/** Every server has each stream, with the same messages. */
export const checkReplicas: Check = (history, { replicas, servers, differing = {} }) => {
  const end = history.reduce((last, entry) => Math.max(last, entry.at), 0);
  return describeDifferences(replicas, servers).map(({ stream, text }) => {
    return { invariant: "replicas equal", at: differing[stream] ?? end, text };
  });
};

/** The streams that servers store differently, or that one of them does not have. */
export function describeDifferences(
  replicas: FinalState["replicas"],
  servers: number,
): { stream: string; text: string }[] {
  return [...Map.groupBy(replicas, ({ stream }) => stream)].flatMap(([stream, own]) => {
    if (own.length < servers) {
      return [{ stream, text: `${stream} is stored by ${own.map(({ server }) => server).join(", ")} only` }];
    }
    const contents = own.map(({ messages, bytes, first, last }) => `${messages}/${bytes}/${first}-${last}`);
    if (new Set(contents).size === 1) return [];
    const each = own.map(({ server }, index) => `${contents[index]} on ${server}`);
    return [{ stream, text: `${stream} is ${each.join(", ")}` }];
  });
}

/**
 * The streams of which a server lacks what another one had at an earlier look, or holds another number of messages up
 * to the same one at both looks: in a fleet at work, replicas that differ at one look are only on their way.
 */
export function stuckStreams(first: FinalState["replicas"], second: FinalState["replicas"]): Set<string> {
  const before = Map.groupBy(first, ({ stream }) => stream);
  const differ = (one: Replica, other: Replica) => one.last === other.last && one.messages !== other.messages;
  const isStuck = (own: Replica, all: readonly Replica[]) => {
    const earlier = before.get(own.stream) ?? [];
    const was = earlier.find(({ server }) => server === own.server);
    return all.some((other) => {
      const otherWas = earlier.find(({ server }) => server === other.server);
      if (was === undefined || otherWas === undefined) return false;
      return own.last < otherWas.last || (differ(own, other) && differ(was, otherWas));
    });
  };
  const groups = Map.groupBy(second, ({ stream }) => stream);
  return new Set([...groups].filter(([, all]) => all.some((own) => isStuck(own, all))).map(([name]) => name));
}
