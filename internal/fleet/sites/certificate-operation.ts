import { type KeyObject, X509Certificate } from "node:crypto";
import * as v from "valibot";
import { decodeBase64 } from "../../base/base64.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import { described, timestamp } from "../../base/schema.ts";
import { placeOf } from "../../bus/servers/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { operation } from "../operation/mod.ts";
import {
  certificateKey,
  decodeCertificate,
  encodeCertificate,
  hasTooMany,
  withRecent,
} from "./certificate-record.ts";
import { judgeCertificateRequest, signedAtField } from "./certificate-request.ts";
import type { Sites } from "./follow.ts";
import { siteNameField } from "./name.ts";
import type { SiteRecord } from "./record.ts";

const retryAfterMs = 3_600_000;

/** What the server of a site needs of a master to get a certificate. */
export interface SiteCertificateDeps {
  /** The bucket of sites. */
  bucket: Pick<Bucket, "get" | "create" | "update">;
  mac: RecordMac;
  sites: Pick<Sites, "all" | "caughtUp">;
  /**
   * Issues the certificate of a bus server.
   *
   * @returns PEM of the chain, when it ends, and the SPKI pin of the root that it leads to
   * @throws SvcError `conflict` where no CA of the fleet does
   */
  certify(
    key: KeyObject,
    names: readonly string[],
  ): Promise<{ certPem: string; notAfter: number; root: string }>;
  /**
   * Writes in the audit that a certificate is issued.
   *
   * @returns called once, at its end
   * @throws SvcError `unavailable` when it cannot be written: then it is not issued
   */
  record(about: {
    site: string;
    /** Public key that signed the request. */
    key: string;
    names: readonly string[];
    requestId: string;
    /** What was signed. */
    request: Readonly<Record<string, string>>;
  }): Promise<(end: { outcome: "done" | "failed"; reason?: string }) => Promise<void>>;
  clock: Clock;
}

/** The names of the certificate of a site: what `add-site` recorded, and the host itself. */
export const namesOfSite = (urls: readonly string[]): string[] => [
  ...new Set([...urls.map((url) => placeOf(url).host), "localhost", "127.0.0.1"]),
];

const bytes = (min: number, max: number, description: string) =>
  described(
    v.pipe(
      v.string(),
      v.maxLength(4 * Math.ceil(max / 3), "is too long"),
      v.check(
        (text) => {
          const { length } = decodeBase64(text) ?? { length: 0 };
          return length >= min && length <= max;
        },
        `must be ${min === max ? max : `${min} to ${max}`} bytes in standard base64`,
      ),
    ),
    description,
  );
const read = (text: string): Uint8Array => decodeBase64(text) ?? new Uint8Array();

export const renewSiteCertificate = operation({
  name: "sites.certificate",
  kind: "change",
  summary: "Issue a certificate for the server of a site",
  description:
    "The server asks for a key that it made, and proves it with the key of its link. The certificate has the names that the site was added with. Each one is in the audit.",
  admits: ["anonymous"],
  scope: "public",
  input: v.strictObject({
    site: siteNameField,
    public_key: bytes(64, 128, "SubjectPublicKeyInfo of the new key, ECDSA P-256"),
    signed_at: described(signedAtField, "When it was signed, at most 5 minutes ago"),
    signature: bytes(64, 64, "Signature of the key of the link of the site"),
    proof: bytes(64, 64, "Signature of the new key over the same"),
  }),
  output: v.object({
    certificate: described(v.string(), "PEM of the chain, the certificate of the server first"),
    not_after: described(timestamp, "When it ends"),
  }),
  async run(deps: SiteCertificateDeps, input, call) {
    const { bucket, mac, sites, clock } = deps;
    const request = {
      site: input.site,
      publicKey: read(input.public_key),
      signedAt: input.signed_at,
      signature: read(input.signature),
      proof: read(input.proof),
    };
    const judge = () => {
      const site = sites.all().find(({ name }) => name === request.site);
      const key = judgeCertificateRequest(request, site, clock.now());
      return { site: site as SiteRecord, key };
    };
    // What is not signed costs the bus nothing. Another master may have removed the site a moment ago.
    judge();
    await sites.caughtUp();
    const { site, key } = judge();
    const names = namesOfSite(site.urls);
    const place = certificateKey(site.name);
    const load = async () => {
      const entry = await bucket.get(place);
      const found = entry === undefined ? undefined : decodeCertificate(mac, site.name, entry.value);
      return { entry, before: found?.account === site.account ? found : undefined };
    };
    if (hasTooMany((await load()).before, clock.now())) throw tooMany(site.name);
    const end = await deps.record({
      ...{ site: site.name, key: site.users.link, names, requestId: call.requestId ?? "" },
      request: { site: input.site, public_key: input.public_key, signed_at: input.signed_at },
    });
    try {
      const issued = await deps.certify(key, names);
      await retryOnConflict(
        async () => {
          const { entry, before } = await load();
          const now = clock.now();
          if (hasTooMany(before, now)) throw tooMany(site.name);
          const value = encodeCertificate(mac, {
            ...{ site: site.name, account: site.account, root: issued.root },
            ...{ issuedAt: now, notAfter: issued.notAfter, recent: withRecent(before, now) },
          });
          const stored =
            entry === undefined
              ? await bucket.create(place, value)
              : await bucket.update(place, value, entry.revision);
          return stored ?? conflict;
        },
        { exhausted: `other requests are changing the certificate of the site ${site.name}: try again` },
      );
      await end({ outcome: "done" });
      const { serialNumber } = new X509Certificate(issued.certPem);
      const until = rfc3339(issued.notAfter);
      call.log.info("site.certificate.issued", { site: site.name, not_after: until, serial: serialNumber });
      return { certificate: issued.certPem, not_after: until };
    } catch (thrown) {
      const reason = thrown instanceof SvcError ? thrown.message : "internal error";
      await end({ outcome: "failed", reason });
      throw thrown;
    }
  },
});

const tooMany = (site: string) =>
  new SvcError("rate_limited", `the site ${site} got too many certificates today`, { retryAfterMs });
