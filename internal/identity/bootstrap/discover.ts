import { SvcError } from "../../base/errors.ts";
import { assertAdvertiseUrl } from "../../base/names/bus-url.ts";

const maxUrls = 64;
const maxUrlLength = 512;

/**
 * The common check of every list of bus URLs that is not from the peel's own configuration: fetched,
 * cached, or received from the bus. One bad entry rejects the whole list: no master published it.
 *
 * @param source the origin of the list, for the message
 * @returns the list, or `undefined` when it is empty, which means that discovery is off
 * @throws SvcError `bad_request`
 */
export function checkDiscovered(source: string, urls: readonly string[]): readonly string[] | undefined {
  if (urls.length === 0) return undefined;
  if (urls.length > maxUrls) {
    throw new SvcError("bad_request", `${source}: ${urls.length} bus URLs; at most ${maxUrls} are allowed`);
  }
  for (const url of urls) {
    if (url.length > maxUrlLength) throw new SvcError("bad_request", `${source}: a bus URL is too long`);
    assertAdvertiseUrl(source, url);
  }
  return [...new Set(urls)];
}

/** Whether two lists name the same servers, in any order. */
export function sameServers(one: readonly string[], other: readonly string[]): boolean {
  const [first, second] = [new Set(one), new Set(other)];
  return first.size === second.size && first.isSubsetOf(second);
}
