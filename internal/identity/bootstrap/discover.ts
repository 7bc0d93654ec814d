import { assertAdvertiseUrl } from "../../base/bus-url.ts";
import { SvcError } from "../../base/errors.ts";

const maxUrls = 64;
const maxUrlLength = 512;

/**
 * The one check of every list of bus URLs that did not come from the peel's own configuration: fetched,
 * cached or told by the bus. A list with one bad entry is refused whole: no master published it.
 *
 * @param source where the list came from, for the message
 * @returns the list, or `undefined` when it is empty, which means that discovery is off
 * @throws SvcError `bad_request`
 */
export function checkDiscovered(source: string, urls: readonly string[]): readonly string[] | undefined {
  if (urls.length === 0) return undefined;
  if (urls.length > maxUrls) {
    throw new SvcError("bad_request", `${source}: ${urls.length} bus URLs, more than ${maxUrls}`);
  }
  for (const url of urls) {
    if (url.length > maxUrlLength) throw new SvcError("bad_request", `${source}: a bus URL is too long`);
    assertAdvertiseUrl(source, url);
  }
  return [...new Set(urls)];
}

/** Whether two lists name the same servers; the order means nothing. */
export function sameServers(one: readonly string[], other: readonly string[]): boolean {
  const [first, second] = [new Set(one), new Set(other)];
  return first.size === second.size && first.isSubsetOf(second);
}
