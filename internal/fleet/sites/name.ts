import * as v from "valibot";
import { isSiteName } from "../../base/names/site-name.ts";
import { described } from "../../base/schema.ts";

/** The name of a site, as requests have it. */
export const siteNameField = described(
  v.pipe(v.string(), v.check(isSiteName, "must be a lower-case letter and up to 31 of a-z, 0-9 and -")),
  "Name of the site",
);
