import { attempt, toSvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { peelOperations } from "../../fleet/peels/mod.ts";
import { targetOperations } from "../../fleet/targeting/mod.ts";
import { matchersOf, readTarget } from "../../tree/targets/mod.ts";
import { request } from "../request.ts";

/** How many peels are read for the names of their labels. */
const read = 1_000;
const refusal = /no peel has a fact "[^"]*"(?: \(did you mean [^)]*\?\))?/;

/** The facts and labels that a target names, each once; none for a target that cannot be read. */
function namesIn(target: string): { kind: "fact" | "label"; name: string }[] {
  const expression = attempt(() => readTarget(target), undefined);
  const found = new Map<string, { kind: "fact" | "label"; name: string }>();
  for (const matcher of expression === undefined ? [] : matchersOf(expression)) {
    const { kind } = matcher;
    if (kind === "label") found.set(`T@${matcher.name}`, { kind, name: matcher.name });
    if (kind !== "fact") continue;
    const [name = ""] = matcher.parts;
    found.set(`G@${name}`, { kind, name });
  }
  return [...found.values()];
}

/**
 * Finds what is wrong with a target that means no peel: a fact or a label that no peel has, which is mostly mistyped.
 *
 * @returns the reason as a sentence; absent where all names are known, or the caller may not see them
 */
export async function unknownName(bus: Bus, target: string): Promise<string | undefined> {
  for (const { kind, name } of namesIn(target)) {
    const said = kind === "fact" ? unknownFact(bus, name) : unknownLabel(bus, name);
    const reason = await said.catch(() => undefined);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

async function unknownFact(bus: Bus, name: string): Promise<string | undefined> {
  const counted = request(bus, peelOperations.countFacts, { by: name, target: "*" }, { isHasty: true });
  // Masters know all names of facts, and refuse to count one that no peel has.
  return counted.then(
    () => undefined,
    (thrown) => refusal.exec(toSvcError(thrown).message)?.[0],
  );
}

async function unknownLabel(bus: Bus, name: string): Promise<string | undefined> {
  const all = { target: `T@${name}:*` };
  const { total } = await request(bus, targetOperations.resolveTarget, all, { isHasty: true });
  if (total > 0) return undefined;
  const { peels } = await request(
    bus,
    peelOperations.listPeels,
    { target: "*", limit: read },
    { isHasty: true },
  );
  const names = [...new Set(peels.flatMap(({ labels }) => Object.keys(labels)))];
  return `no peel has a label "${name}"${suggestion(name, names)}`;
}
