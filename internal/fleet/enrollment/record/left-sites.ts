import * as v from "valibot";
import { siteLabel } from "../../../base/names/site-name.ts";
import type { Labels } from "./labels.ts";

// A peel that is moved to another site stays connected to the one before until it has other credentials.

/** A peel that is moved more often, all with the same credentials, is not received at the first of these sites. */
const maxLeftSites = 4;

/** Sites of a peel that its label does not name any more, oldest first, as a record has them. */
export const leftSitesField = v.pipe(
  v.array(
    v.object({
      site: v.pipe(v.string(), v.maxLength(4096)),
      /** When the credentials of that time end, milliseconds since the Unix epoch. */
      until: v.number(),
    }),
  ),
  v.maxLength(16),
);
export type LeftSites = v.InferOutput<typeof leftSitesField>;

/**
 * The sites that a peel has left when it gets these labels. @param now milliseconds since the Unix epoch
 */
export function leavingSites(
  record: { labels?: Labels; leftSites?: LeftSites; credsExpiresAt?: number },
  labels: Labels,
  now: number,
): { leftSites?: LeftSites } {
  const before = record.labels?.[siteLabel];
  const until = record.credsExpiresAt ?? 0;
  const kept = (record.leftSites ?? []).filter(({ site }) => site !== before);
  const all = before === undefined ? kept : [...kept, { site: before, until }];
  const left = all.filter((one) => one.until > now && one.site !== labels[siteLabel]).slice(-maxLeftSites);
  return left.length === 0 ? {} : { leftSites: left };
}
