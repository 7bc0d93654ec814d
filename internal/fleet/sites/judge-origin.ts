import type { Clock } from "../../base/clock.ts";
import type { Log, LogFields } from "../../base/log.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { siteLabel } from "../../base/names/site-name.ts";
import type { Origin } from "../../bus/accounts/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import type { Sites } from "./follow.ts";

/** Peels of one site that the readiness names. */
const maxNamed = 8;
/** Sites that are counted at a time; a fleet has fewer. */
const maxSites = 128;
/** Of an id of a peel. */
const maxName = 255;
const reportMs = 60_000;
/** How long the readiness names a peel after its last message. */
const namedMs = 15 * 60_000;

/** What the fleet says of a peel and of sites. */
interface Placed {
  labels?: Readonly<Record<string, string>>;
  /**
   * Sites that it was at before, and until when its credentials of that time are good, milliseconds since the Unix
   * epoch.
   */
  leftSites?: readonly { site: string; until: number }[];
}

export interface JudgeOriginsDeps {
  sites: Pick<Sites, "open" | "onChange">;
  /** What the record of a member says; `undefined` for any other peel. */
  placeOf(peel: string): Placed | undefined;
  metrics: { siteRefused(site: string): void };
  clock: Clock;
  log: Log;
}

/** Judges who may speak over the link of a site. */
export interface OriginJudge {
  /** Whether a message counts. It costs a look-up in memory. */
  admits(origin: Origin): boolean;
  /** The sites of the fleet at which a peel may be. */
  sitesOf(peel: string): readonly string[];
  /** What needs attention at a site, as a sentence. */
  problemOf(site: string): string | undefined;
  /** `site-peels` of /readyz. */
  check(): CheckResult;
  stop(): void;
}

/** What a site said lately for peels that are not its own. */
interface Foreign {
  /** When the last heartbeat of each of these members arrived, on the monotonic clock, by its id. */
  named: Map<string, number>;
  /** Messages since the last report. */
  count: number;
}

/** Whether a peel may be at a site: its label names it, or its credentials may still do. */
function isAt({ labels, leftSites }: Placed, site: string, now: number): boolean {
  if (labels?.[siteLabel] === site) return true;
  return leftSites?.some((left) => left.site === site && left.until > now) ?? false;
}

/**
 * The server of a site can send in the name of every peel. Of what comes over its link, only what is from its own peels
 * counts. The rest is counted, and at most two lines a minute are logged for each site: an attacker who controls a site chooses how much it
 * sends, and for which names.
 */
export function judgeOrigins(deps: JudgeOriginsDeps): OriginJudge {
  const { placeOf, metrics, clock, log } = deps;
  const namesOfOpen = () => new Set(deps.sites.open().map(({ name }) => name));
  let open = namesOfOpen();
  const forget = deps.sites.onChange(() => {
    open = namesOfOpen();
  });
  const seen = new Map<string, Foreign>();
  const say = (site: string, fields: LogFields) =>
    log.warn("refused: a site spoke for other peels", { site, ...fields });
  const foreignAt = (site: string): Foreign | undefined => {
    const known = seen.get(site);
    if (known !== undefined || seen.size === maxSites) return known;
    const made = { named: new Map(), count: 0 };
    seen.set(ownText(site), made);
    return made;
  };
  const note = (site: string, peel: string, isMember: boolean) => {
    const foreign = foreignAt(site);
    if (foreign === undefined) return;
    foreign.count++;
    if (foreign.count === 1) say(site, { peel_id: ownText(peel) });
    if (!isMember) return;
    const { named } = foreign;
    if (named.has(peel) || named.size < maxNamed) named.set(ownText(peel), clock.monotonic());
  };
  const report = () => {
    for (const [site, foreign] of seen) {
      const { named, count } = foreign;
      for (const [peel, at] of named) if (clock.monotonic() - at > namedMs) named.delete(peel);
      if (count > 1) say(site, { messages: count });
      if (count === 0 && named.size === 0) seen.delete(site);
      foreign.count = 0;
    }
  };
  const problemOf = (site: string) => {
    const { named = new Map<string, number>() } = seen.get(site) ?? {};
    if (named.size === 0) return undefined;
    const listed = [...named.keys()].map(displayPeelId).join(", ");
    const peels = named.size < maxNamed ? listed : `${listed}, …`;
    return `site ${site} sends for peels that do not have its label, and is refused: ${peels}: give them the label site=${site}; if the site was stolen, remove it`;
  };
  const timer = clock.every(reportMs, report);
  return {
    admits({ site, peel }) {
      if (site === undefined) return true;
      const place = placeOf(peel);
      if (place !== undefined && isAt(place, site, clock.now())) return true;
      note(site, peel, place !== undefined);
      metrics.siteRefused(site);
      return false;
    },
    sitesOf(peel) {
      const { labels, leftSites = [] } = (open.size === 0 ? undefined : placeOf(peel)) ?? {};
      const left = leftSites.filter(({ until }) => until > clock.now()).map(({ site }) => site);
      return [...new Set([labels?.[siteLabel] ?? "", ...left])].filter((site) => open.has(site));
    },
    problemOf,
    check() {
      const reported = [...seen.keys()].flatMap((site) => problemOf(site) ?? []);
      const [first] = [...seen].filter(([, { named }]) => named.size > 0);
      if (first === undefined) return { status: "up" };
      const [site, { named }] = first;
      const [peel = ""] = [...named.keys()].map(displayPeelId);
      const next = `give ${peel} the label site=${site} with svc enroll label; svc cluster remove-site ${site} if the site was stolen`;
      return { status: "degraded", message: reported.join("; "), next };
    },
    stop() {
      timer.cancel();
      forget();
    },
  };
}

/** A part of a subject would keep all of it in memory. */
const ownText = (part: string): string => Buffer.from(part.slice(0, maxName)).toString();
