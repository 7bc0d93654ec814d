import * as v from "valibot";
import { readBy } from "../../base/document/schemas.ts";
import { SvcError } from "../../base/errors.ts";
import { advertiseUrlProblem, busUrlProblem } from "../../base/names/bus-url.ts";
import { readMasterUrl } from "../../base/names/master-url.ts";
import { listOf } from "./list.ts";
import { checked, emptyOr, text } from "./scalar.ts";

const bus = { name: "tls:// URL", placeholder: "<url>" };
const buses = { name: "tls:// URLs", placeholder: "<url>" };

/** A required bus URL. */
export const busUrl = text({ ...bus, schema: checked(busUrlProblem) });
/** A bus URL; empty means to discover it. */
export const optionalBusUrl = text({ ...bus, schema: emptyOr(busUrlProblem) });
export const busUrls = listOf({ ...buses, item: busUrlProblem });
/** Bus URLs for other hosts. */
export const advertiseUrls = listOf({ ...buses, item: advertiseUrlProblem });

/** A master's base URL without a trailing slash, or empty. */
export const optionalHttpsUrl = text({
  name: "https:// URL",
  placeholder: "<url>",
  schema: httpsUrl((url) => (url === "" ? "" : originOf(url))),
});
export const httpsUrls = listOf({ name: "https:// URLs", placeholder: "<url>", item: httpsUrl(originOf) });

function httpsUrl(read: (url: string) => string) {
  return v.pipe(v.string(), readBy(read));
}

function originOf(url: string): string {
  const read = readMasterUrl(url);
  if ("problem" in read) throw new SvcError("bad_request", read.problem);
  return read.origin;
}
