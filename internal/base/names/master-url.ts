/** What is expected of the URL of a master, for messages. */
const expected = "expected https://host:port, such as https://svc:8443";

/**
 * Reads the base URL of a master: `https://host[:port]` and nothing else.
 *
 * @returns its origin, without a trailing slash; or what is wrong with it, which never repeats the URL
 */
export function readMasterUrl(text: string): { origin: string } | { problem: string } {
  const url = /^https:\/\/[^\s\\]+$/i.test(text) ? URL.parse(text) : null;
  if (url === null) return { problem: expected };
  if (url.username !== "" || url.password !== "") {
    return { problem: "a URL may not hold a user name or password" };
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    return { problem: `nothing may follow the host and port; ${expected}` };
  }
  return { origin: url.origin };
}
