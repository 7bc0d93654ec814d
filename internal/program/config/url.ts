import { advertiseUrlProblem, busUrlProblem } from "../../base/bus-url.ts";
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

const expected = "expected https://host:port, such as https://svc:8443";

function readHttpsUrl(value: string): string {
  const url = /^https:\/\/[^\s\\]+$/i.test(value) ? URL.parse(value) : null;
  if (url === null) throw new Complaint(expected);
  if (url.username !== "" || url.password !== "") {
    throw new Complaint("a URL may not hold a user name or password");
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    throw new Complaint(`nothing may follow the host and port; ${expected}`);
  }
  return url.origin;
}
