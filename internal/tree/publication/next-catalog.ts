import { allPublished, type Catalog, keptSnapshots, type Published } from "../files/mod.ts";
import type { EncodedEnvironment } from "./encode-environment.ts";

type Candidate = Catalog["candidates"] extends ReadonlyMap<string, readonly (infer One)[]> ? One : never;
type Encoded = { name: string } & EncodedEnvironment;

/** What a publication makes of a catalog. */
interface NextSteps {
  /** Environments that come into force. */
  publish: readonly Encoded[];
  /** Environments that stay. */
  unchanged: readonly string[];
  /** Stored snapshots that come into force, by environment. */
  restore: ReadonlyMap<string, string>;
  /** What waits for a release from now on. */
  offer: readonly Encoded[];
  /** Environments whose candidates stay. */
  waiting: readonly string[];
  /** Snapshots that stay readable. */
  held: ReadonlySet<string>;
  /** Milliseconds since the Unix epoch. */
  now: number;
}

/** The next catalog, and what changes with it. */
export function nextCatalog(
  catalog: Catalog,
  steps: NextSteps,
): { next: Catalog; changed: string[]; gone: string[]; isOtherwiseDifferent: boolean } {
  const environments = new Map<string, readonly Published[]>();
  const changed: string[] = [];
  const bring = (name: string, newest: Published) => {
    changed.push(name);
    const older = (catalog.environments.get(name) ?? []).filter(
      ({ manifest }) => manifest !== newest.manifest,
    );
    environments.set(name, [{ ...newest, since: steps.now }, ...older].slice(0, keptSnapshots));
  };
  for (const name of steps.unchanged) {
    const list = catalog.environments.get(name);
    if (list !== undefined) environments.set(name, list);
  }
  for (const one of steps.publish) {
    const [first, ...older] = catalog.environments.get(one.name) ?? [];
    const isInForce = first?.manifest === one.manifest.digest && first.snapshot === one.snapshot;
    if (isInForce) environments.set(one.name, [first, ...older]);
    else bring(one.name, publishedAs(one));
  }
  for (const [name, snapshot] of steps.restore) {
    const stored = storedSnapshot(catalog, name, snapshot);
    if (stored !== undefined && catalog.environments.get(name)?.[0]?.snapshot !== snapshot)
      bring(name, stored);
  }
  const candidates = nextCandidates(catalog, environments, steps);
  const next = {
    environments,
    candidates,
    held: heldBehind(catalog, { environments, candidates }, steps.held),
  };
  return {
    next,
    changed,
    gone: [...catalog.environments.keys()].filter((name) => !environments.has(name)),
    isOtherwiseDifferent:
      !Bun.deepEquals(next.held, catalog.held) || !Bun.deepEquals(next.candidates, catalog.candidates),
  };
}

/** A snapshot of an environment, wherever a catalog has it. */
export function storedSnapshot(
  catalog: Catalog,
  environment: string,
  snapshot: string,
): Published | undefined {
  const found = [catalog.environments, catalog.candidates, catalog.held]
    .flatMap((lists): readonly Published[] => lists.get(environment) ?? [])
    .find((one) => one.snapshot === snapshot);
  return found && { manifest: found.manifest, snapshot, origin: found.origin };
}

const publishedAs = ({ manifest, snapshot }: EncodedEnvironment): Published => ({
  ...{ manifest: manifest.digest, snapshot, origin: manifest.root.origin },
});

/**
 * The newest files of the sources first. What is in force waits no longer, and neither does what is older than it: a
 * release of it would bring back what a release has already replaced.
 */
function nextCandidates(
  catalog: Catalog,
  environments: Catalog["environments"],
  { offer, waiting, now }: Pick<NextSteps, "offer" | "waiting" | "now">,
): Catalog["candidates"] {
  const candidates = new Map<string, readonly Candidate[]>();
  const offered = new Map(offer.map((one) => [one.name, one]));
  for (const name of new Set([...waiting, ...offered.keys()])) {
    const known = catalog.candidates.get(name) ?? [];
    const one = offered.get(name);
    const list = one === undefined ? known : [candidateOf(one, known, now), ...without(known, one.snapshot)];
    const inForce = environments.get(name)?.[0]?.snapshot;
    const at = list.findIndex(({ snapshot }) => snapshot === inForce);
    const left = (at < 0 ? list : list.slice(0, at)).slice(0, keptSnapshots);
    if (left.length > 0) candidates.set(name, left);
  }
  return candidates;
}

/** The same files wait since they were found first, whichever commit has them. */
const candidateOf = (one: EncodedEnvironment, known: readonly Candidate[], now: number): Candidate => ({
  ...publishedAs(one),
  since: known.find(({ snapshot }) => snapshot === one.snapshot)?.since ?? now,
});

const without = (list: readonly Candidate[], snapshot: string) =>
  list.filter((one) => one.snapshot !== snapshot);

/** The snapshots that the next lists no longer have, and something still names. */
function heldBehind(
  catalog: Catalog,
  { environments, candidates }: Pick<Catalog, "environments" | "candidates">,
  held: ReadonlySet<string>,
): Catalog["held"] {
  const behind = new Map<string, Published[]>();
  for (const [name, { manifest, snapshot, origin }] of allPublished(catalog)) {
    const listed = [...(environments.get(name) ?? []), ...(candidates.get(name) ?? [])];
    const others = behind.get(name) ?? [];
    const isKnown = [...listed, ...others].some((one) => one.snapshot === snapshot);
    if (held.has(snapshot) && !isKnown) behind.set(name, [...others, { manifest, snapshot, origin }]);
  }
  return behind;
}
