import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import { advertiseUrlProblem } from "../../base/names/bus-url.ts";
import { described } from "../../base/schema.ts";
import { newSite } from "../../bus/accounts/mod.ts";
import type { Reconciler, SystemBus } from "../../bus/servers/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { decodePublicKey, type RecordMac, readClaims } from "../../identity/mod.ts";
import { operation, operatorOf } from "../operation/mod.ts";
import type { Sites } from "./follow.ts";
import { siteNameField } from "./name.ts";
import { decodeSite, encodeSite, type FormerSite, type SiteRecord } from "./record.ts";

export { renewSiteCertificate, type SiteCertificateDeps } from "./certificate-operation.ts";

const maxSites = 64;
const maxUrls = 8;
/** Of earlier sites of the same name; the oldest links are gone long before. */
const maxFormer = 16;

/** What the operations on sites need of a master. */
export interface SiteDeps {
  bucket: Bucket;
  mac: RecordMac;
  sites: Sites;
  system: Pick<SystemBus, "lookupClaims">;
  /** Public keys of accounts. */
  accounts: { peels: string; masters: string; system: string };
  /** The accounts of sites. */
  reconciler: Pick<Reconciler, "enforce">;
  /** The account of the peels: with the first site, masters relay what peels store. */
  enforcer: Pick<Reconciler, "enforce">;
  clock: Clock;
  random: Random;
}

const userKey = v.pipe(
  v.string(),
  v.check(
    (text) => decodePublicKey("user", text) !== undefined,
    "must be the public key of a user of the bus",
  ),
);
const busUrl = v.pipe(
  v.string(),
  v.maxLength(512, "must have at most 512 characters"),
  v.rawCheck(({ dataset, addIssue }) => {
    const problem = dataset.typed ? advertiseUrlProblem(dataset.value) : undefined;
    if (problem !== undefined) addIssue({ message: problem });
  }),
);

export const addSite = operation({
  name: "cluster.add-site",
  kind: "change",
  summary: "Add a site: a server of the bus that stands with its peels",
  description:
    "The server connects with two keys whose private halves only it has. The answer contains what else it needs. Repeating the request returns the same answer.",
  scope: { kind: "cluster", action: "add" },
  input: v.strictObject({
    site: siteNameField,
    urls: described(
      v.pipe(v.array(busUrl), v.minLength(1, "must have a URL"), v.maxLength(maxUrls, "has too many URLs")),
      "Where peels of the site connect",
    ),
    link_key: described(userKey, "Public key of its link"),
    system_key: described(userKey, "Public key of its link to the system account"),
  }),
  output: v.object({
    link_jwt: v.string(),
    system_jwt: v.string(),
    accounts: described(v.record(v.string(), v.string()), "JWTs of the accounts of the fleet"),
    system_account: v.string(),
    masters_account: v.string(),
  }),
  async run(deps: SiteDeps, { site: name, urls, link_key, system_key }, call) {
    const users = { link: link_key, system: system_key };
    const site = await writeSite(deps, name, (before, now) => {
      const isOpen = before !== undefined && before.removedAt === undefined;
      const isSame = isOpen && before.users.link === users.link && before.users.system === users.system;
      if (isSame) return { ...before, urls };
      if (isOpen) {
        throw new SvcError(
          "conflict",
          `there is a site ${name} already: remove it first with svc cluster remove-site, or choose another name`,
        );
      }
      if (deps.sites.open().length >= maxSites) {
        throw new SvcError("conflict", `a fleet has at most ${maxSites} sites`);
      }
      const { accounts, random } = deps;
      const made = newSite({ name, users, accounts, issuedAt: Math.floor(now / 1000), random });
      return {
        ...{ name, urls, users, ...made },
        createdAt: now,
        createdBy: operatorOf(call),
        former: before === undefined ? [] : formerOf(before),
      };
    });
    // A request over the bus gives up: what can be done at once is.
    const confirmed = await Promise.all([deps.reconciler.enforce(), deps.enforcer.enforce()]);
    if (confirmed.includes(false)) {
      throw new SvcError(
        "unavailable",
        "the bus did not confirm the accounts of the site in time: try again",
      );
    }
    call.log.info("site added", { site: name, urls: [...urls], operator: operatorOf(call) });
    const { accounts } = deps;
    const jwts = await Promise.all(
      Object.values(accounts).map(async (account) => [account, await newestClaims(deps, account)] as const),
    );
    return {
      link_jwt: site.jwts.link,
      system_jwt: site.jwts.system,
      accounts: Object.fromEntries(jwts),
      system_account: accounts.system,
      masters_account: accounts.masters,
    };
  },
});

export const removeSite = operation({
  name: "cluster.remove-site",
  kind: "change",
  summary: "Remove a site: its server is disconnected at once, and refused from now on",
  scope: { kind: "cluster", action: "remove" },
  input: v.strictObject({ site: siteNameField }),
  output: v.object({ removed: described(v.boolean(), "Whether it existed") }),
  async run(deps: SiteDeps, { site: name }, call) {
    let removed = false;
    await writeSite(deps, name, (before, now) => {
      if (before === undefined)
        throw new SvcError("not_found", `the site ${name} does not exist: see svc cluster status`);
      removed = before.removedAt === undefined;
      return removed ? { ...before, removedAt: now } : before;
    });
    // Also when it was removed before: the bus may not have confirmed that.
    if (!(await deps.reconciler.enforce())) {
      throw new SvcError(
        "unavailable",
        "it is removed, but the bus did not confirm in time: masters continue",
      );
    }
    await deps.enforcer.enforce();
    call.log.info("site removed", { site: name, operator: operatorOf(call) });
    return { removed };
  },
});

/** Changes the record of a site, and resolves when this master knows that. */
async function writeSite(
  { bucket, mac, sites, clock }: SiteDeps,
  name: string,
  change: (before: SiteRecord | undefined, now: number) => SiteRecord,
): Promise<SiteRecord> {
  await sites.caughtUp();
  const entry = await bucket.get(name);
  const before = entry === undefined ? undefined : decodeSite(mac, name, entry.value);
  const site = change(before, clock.now());
  const value = encodeSite(mac, site);
  const revision =
    entry === undefined ? await bucket.create(name, value) : await bucket.update(name, value, entry.revision);
  if (revision === undefined) {
    throw new SvcError("conflict", `the site ${name} was changed at the same moment: try again`);
  }
  await sites.caughtUp();
  return site;
}

const formerOf = ({ account, users, former }: SiteRecord): FormerSite[] =>
  [...former, { account, system: users.system }].slice(-maxFormer);

/** @throws SvcError `unavailable` */
async function newestClaims({ system }: SiteDeps, account: string): Promise<string> {
  const held = (await system.lookupClaims(account)).flatMap(({ jwt }) => (jwt === "" ? [] : jwt));
  const [newest] = held.toSorted((one, other) => readClaims(other).iat - readClaims(one).iat);
  if (newest === undefined)
    throw new SvcError("unavailable", "the bus does not tell the claims of an account");
  return newest;
}
