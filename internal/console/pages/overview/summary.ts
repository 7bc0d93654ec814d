/** What the overview needs of a peel. */
interface SeenPeel {
  id: string;
  alive: boolean;
  silent_since?: string | undefined;
  creds_expires_at?: string | undefined;
}

/** What the overview says of the peels. */
export interface PeelsSummary {
  alive: number;
  silent: number;
  /** The peels that are silent, the latest first. */
  silentPeels: { id: string; since?: string }[];
  /** What ends within the next day and is not renewed, as its peel is silent; the first first. */
  ending: { id: string; at: string }[];
}

const soonMs = 24 * 60 * 60_000;
const maxListed = 8;

/**
 * Sums up the peels of a fleet. A peel renews its credentials by itself long before they end: only those of a peel
 * that is silent are worth a look.
 *
 * @param now milliseconds since the Unix epoch
 */
export function summarize(peels: readonly SeenPeel[], now: number): PeelsSummary {
  const silent = peels.filter(({ alive }) => !alive);
  const silentPeels = silent
    .toSorted((one, other) => timeOf(other.silent_since) - timeOf(one.silent_since))
    .slice(0, maxListed)
    .map(({ id, silent_since }) => (silent_since === undefined ? { id } : { id, since: silent_since }));
  const ending = silent
    .flatMap(({ id, creds_expires_at: at }) => (at === undefined ? [] : [{ id, at }]))
    .filter(({ at }) => Date.parse(at) - now < soonMs)
    .toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))
    .slice(0, maxListed);
  return { alive: peels.length - silent.length, silent: silent.length, silentPeels, ending };
}

const timeOf = (text: string | undefined): number => (text === undefined ? 0 : Date.parse(text));
