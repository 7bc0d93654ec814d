import { isSiteName } from "../../base/names/site-name.ts";
import { inGroup, type OptionTable, option } from "./option.ts";
import { emptyOr, text } from "./scalar.ts";
import { httpsUrls } from "./url.ts";

/** The name of a site, or empty. */
export const site = text({
  name: "site",
  placeholder: "<name>",
  schema: emptyOr((name) =>
    isSiteName(name) ? undefined : "expected the name of a site, as svc cluster status shows it",
  ),
});

/** The keys of a master that runs the bus of a site alone. */
export const siteOptions = {
  ...inGroup("Bus", {
    site: option(
      site,
      "",
      "site whose bus this is, with embedded_bus_only; it renews its certificate and follows the root of the fleet",
    ),
    master_urls: option(
      httpsUrls,
      [],
      "https:// URLs of the masters that the bus of a site asks, in order of preference",
    ),
  }),
} satisfies OptionTable;
