import { sizeText } from "../../../base/byte-size.ts";
import type { routes } from "../../api/mod.ts";
import type { Outcome } from "../../kit/outcome.ts";

type Answer = NonNullable<(typeof routes.showCluster)["types"]>["answer"];
type Server = Answer["members"][number];
type Stream = Answer["streams"][number];

const outcomes: Readonly<Record<Server["state"], Outcome>> = {
  up: "ok",
  missing: "offline",
  outside: "timeout",
  off: "failed",
  broken: "failed",
};

/** The servers of the bus, those that need a look first. */
export function judgeServers({ members }: Answer): (Server & { outcome: Outcome })[] {
  const isWell = ({ state }: Server) => state === "up";
  return members
    .map((server) => ({ ...server, outcome: outcomes[server.state] }))
    .toSorted(
      (one, other) =>
        Number(isWell(one)) - Number(isWell(other)) || one.server.localeCompare(other.server, "en"),
    );
}

/** Of as much of what it may store, a server needs a look. */
const nearlyFull = 0.85;

/** The disk of a server: how much it stores of what it may. */
export function diskOf({
  stored_bytes: stored,
  max_bytes: max,
}: Pick<Server, "stored_bytes" | "max_bytes">): { words: string; isNearlyFull: boolean } {
  if (stored === undefined || max === undefined) return { words: "not known", isNearlyFull: false };
  return { words: `${sizeText(stored)} of ${sizeText(max)}`, isNearlyFull: stored >= nearlyFull * max };
}

/** A stream with how well it is stored. */
export interface JudgedStream extends Stream {
  word: string;
  outcome: Outcome;
}

/** The streams of the bus, those that need a look first. */
export function judgeStreams({ streams, wanted_replicas }: Answer): JudgedStream[] {
  const judge = (stream: Stream): Pick<JudgedStream, "word" | "outcome"> & { place: number } => {
    if (stream.leader === "") return { place: 0, word: "no leader", outcome: "failed" };
    if (stream.behind.length > 0) return { place: 1, word: "incomplete", outcome: "timeout" };
    if (stream.replicas < wanted_replicas) return { place: 2, word: "few replicas", outcome: "timeout" };
    return { place: 3, word: "complete", outcome: "ok" };
  };
  return streams
    .map((stream) => ({ stream, ...judge(stream) }))
    .toSorted(
      (one, other) => one.place - other.place || one.stream.stream.localeCompare(other.stream.stream, "en"),
    )
    .map(({ stream, word, outcome }) => ({ ...stream, word, outcome }));
}
