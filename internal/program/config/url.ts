import { advertiseUrlProblem, busUrlProblem } from "../../base/bus-url.ts";
import { readMasterUrl } from "../../base/master-url.ts";
import { listOf } from "./list.ts";
import { Complaint } from "./option.ts";
import { type ReadText, text } from "./scalar.ts";

const checked =
  (problemOf: (url: string) => string | undefined): ReadText<string> =>
  (url) => {
    const problem = problemOf(url);
    if (problem !== undefined) throw new Complaint(problem);
    return url;
  };
const orEmpty =
  (read: ReadText<string>): ReadText<string> =>
  (url) =>
    url === "" ? "" : read(url);

/** A required bus URL. */
export const busUrl = text({ name: "tls:// URL", placeholder: "<url>", read: checked(busUrlProblem) });
/** A bus URL; empty means to discover it. */
export const optionalBusUrl = text({
  name: "tls:// URL",
  placeholder: "<url>",
  read: orEmpty(checked(busUrlProblem)),
});
export const busUrls = listOf({ name: "tls:// URLs", placeholder: "<url>", read: checked(busUrlProblem) });
/** Bus URLs for other hosts. */
export const advertiseUrls = listOf({
  name: "tls:// URLs",
  placeholder: "<url>",
  read: checked(advertiseUrlProblem),
});
/** A master's base URL without a trailing slash, or empty. */
export const optionalHttpsUrl = text({
  name: "https:// URL",
  placeholder: "<url>",
  read: orEmpty(readHttpsUrl),
});
export const httpsUrls = listOf({ name: "https:// URLs", placeholder: "<url>", read: readHttpsUrl });

function readHttpsUrl(value: string): string {
  const read = readMasterUrl(value);
  if ("problem" in read) throw new Complaint(read.problem);
  return read.origin;
}
