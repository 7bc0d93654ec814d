import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { LeafNode, SystemBus } from "../../bus/servers/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import type { SiteCertificate } from "./certificate-record.ts";
import type { Sites } from "./follow.ts";
import type { SiteRecord } from "./record.ts";

const everyMs = 10_000;

/** A site as it is now. */
export interface SiteState {
  name: string;
  urls: readonly string[];
  /** `unknown` before the first check. */
  state: "up" | "cut off" | "unknown";
  /** Absent while there is no link. */
  link?: {
    /** Name of the server of the bus that it leads to. */
    server: string;
    /** As that server measures it. */
    roundTripMs: number;
    /** Whether new claims reach the site: otherwise a revocation does not. */
    hasClaims: boolean;
  };
  /** How long it is cut off, milliseconds, as far as this master knows. */
  cutOffMs?: number;
  /** The last certificate that it got by itself; absent where it never asked. */
  certificate?: Pick<SiteCertificate, "issuedAt" | "notAfter" | "root">;
  /** When its certificate ends, milliseconds since the Unix epoch, if it should have got another one by now. */
  endingAt?: number;
  /** What else needs attention, as a sentence. */
  problem?: string;
}

/** How long the certificate of a site lasts that `add-site` wrote, and that did not ask for another one since. */
const firstValidityMs = 8_760 * 3_600_000;
/** A site asks for a new certificate when a third of the life of the last one is left. */
const lateLife = 1 / 4;

/** When the certificate of a site ends, if that is soon: then the site does not get another one. */
function endingAt(
  { createdAt }: Pick<SiteRecord, "createdAt">,
  certificate: Pick<SiteCertificate, "issuedAt" | "notAfter"> | undefined,
  now: number,
): number | undefined {
  const [from, until] =
    certificate === undefined
      ? [createdAt, createdAt + firstValidityMs]
      : [certificate.issuedAt, certificate.notAfter];
  return until - now < (until - from) * lateLife ? until : undefined;
}

/** The links of the sites, as one master watches them. */
export interface WatchedLinks {
  states(): SiteState[];
  /** `sites` of /readyz. */
  check(): CheckResult;
  /** Looks now. */
  inspect(): Promise<void>;
  stop(): void;
}

/**
 * Watches the links of the sites: the servers of the bus report them every 10 s. Only the name of its server comes
 * from a site, and it says no more than which of its own links belong together.
 */
export function watchLinks(options: {
  sites: Pick<Sites, "open" | "onChange" | "certificateOf">;
  system: Pick<SystemBus, "leafNodes">;
  /** Public key of the system account. */
  systemAccount: string;
  clock: Clock;
  log: Log;
}): WatchedLinks {
  const { sites, system, systemAccount, clock, log } = options;
  let nodes: readonly LeafNode[] | undefined;
  const lostAt = new Map<string, number>();
  const nodeOf = (account: string) => nodes?.find((one) => one.account === account);

  const inspect = async () => {
    if (sites.open().length === 0) return;
    nodes = (await system.leafNodes()) ?? nodes;
    if (nodes === undefined) return;
    for (const { name, account } of sites.open()) {
      const isUp = nodeOf(account) !== undefined;
      if (isUp !== lostAt.has(account)) continue;
      if (isUp) {
        lostAt.delete(account);
        log.info("site is linked again", { site: name });
      } else {
        lostAt.set(account, clock.monotonic());
        log.warn("site is cut off", { site: name });
      }
    }
  };
  const checkOrReport = () => {
    inspect().catch((thrown) =>
      log.debug("the links of sites are not known", { reason: describeError(thrown) }),
    );
  };
  const states = () =>
    sites.open().map((site): SiteState => {
      const { name, urls, account } = site;
      const certificate = sites.certificateOf(name);
      const ending = endingAt(site, certificate, clock.now());
      const known = { name, urls, ...defined({ certificate, endingAt: ending }) };
      if (nodes === undefined) return { ...known, state: "unknown" };
      const node = nodeOf(account);
      if (node === undefined) {
        const since = lostAt.get(account);
        const cutOffMs = since === undefined ? undefined : Math.round(clock.monotonic() - since);
        return { ...known, state: "cut off", ...defined({ cutOffMs }) };
      }
      const { server, roundTripMs } = node;
      const hasClaims = nodes.some((one) => one.account === systemAccount && one.name === node.name);
      return { ...known, state: "up", link: { server, roundTripMs, hasClaims } };
    });
  const timer = clock.every(everyMs, checkOrReport);
  const forget = sites.onChange(checkOrReport);
  checkOrReport();
  return {
    states,
    inspect,
    check() {
      const reported = problemsOf(states());
      return reported.length === 0 ? { status: "up" } : { status: "degraded", message: reported.join("; ") };
    },
    stop() {
      timer.cancel();
      forget();
    },
  };
}

/** What needs attention, one sentence each. */
export function problemsOf(states: readonly SiteState[]): string[] {
  const cutOff = states.filter(({ state }) => state === "cut off").map(({ name }) => name);
  const deaf = states.filter(({ link }) => link?.hasClaims === false).map(({ name }) => name);
  return [
    ...(cutOff.length === 0
      ? []
      : [
          `cut off: site ${cutOff.join(", ")}: start svc-master there, and check the network; its peels keep their schedules and returns`,
        ]),
    ...(deaf.length === 0
      ? []
      : [`revocations do not reach site ${deaf.join(", ")}: see the log of svc-master there`]),
    ...states.flatMap(({ problem }) => problem ?? []),
    ...states.flatMap(({ name, endingAt }) =>
      endingAt === undefined
        ? []
        : [
            `the certificate of site ${name} is not renewed, and ends at ${rfc3339(endingAt)}: see /readyz of svc-master there`,
          ],
    ),
  ];
}
