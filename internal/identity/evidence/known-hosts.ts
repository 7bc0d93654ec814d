import { decodeBase64 } from "../../base/base64.ts";
import { SvcError } from "../../base/errors.ts";
import { type HostPattern, readHostPattern } from "../../base/names/host-pattern.ts";

/** A line of a known_hosts file. */
interface KnownHost {
  marker: "" | "@cert-authority" | "@revoked";
  isFor: HostPattern;
  /** The encoding of the key, in base64. */
  key: string;
}

/** What a known_hosts file says. */
export interface KnownHosts {
  /** Whether a line lists this key for the host. */
  lists(host: string, key: Uint8Array): boolean;
  /** Whether a line lists this key as an authority for certificates of the host. */
  listsAuthority(host: string, key: Uint8Array): boolean;
  /** Whether a line revokes this key, for any host. */
  revokes(key: Uint8Array): boolean;
}

const maxLines = 200_000;

/**
 * Reads a known_hosts file. Comments and empty lines are ignored, as are keys of other kinds than the ones that can
 * be evidence. A line that cannot be read makes the whole file invalid: it could be one that revokes a key.
 *
 * @param name of the file, for messages
 * @throws SvcError `bad_request` with the line
 */
export function readKnownHosts(text: string, name: string): KnownHosts {
  const lines = text.split("\n");
  if (lines.length > maxLines) throw new SvcError("bad_request", `${name}: more than ${maxLines} lines`);
  /** By marker and key: a large file is not walked for each host. */
  const byKey = new Map<string, HostPattern[]>();
  for (const [at, line] of lines.entries()) {
    const content = line.trim();
    if (content === "" || content.startsWith("#")) continue;
    const known = readLine(content);
    if (known === undefined) {
      throw new SvcError(
        "bad_request",
        `${name}, line ${at + 1}: expected host names, the type of a key and the key in base64, after @cert-authority or @revoked if need be`,
      );
    }
    const index = `${known.marker} ${known.key}`;
    const found = byKey.get(index);
    if (found === undefined) byKey.set(index, [known.isFor]);
    else found.push(known.isFor);
  }
  const find = (marker: KnownHost["marker"], key: Uint8Array) =>
    byKey.get(`${marker} ${Buffer.from(key).toString("base64")}`) ?? [];
  return {
    lists: (host, key) => find("", key).some((isFor) => isFor(host)),
    listsAuthority: (host, key) => find("@cert-authority", key).some((isFor) => isFor(host)),
    revokes: (key) => find("@revoked", key).length > 0,
  };
}

function readLine(content: string): KnownHost | undefined {
  const fields = content.split(/[ \t]+/);
  const marker = fields[0]?.startsWith("@") === true ? fields.shift() : "";
  if (marker !== "" && marker !== "@cert-authority" && marker !== "@revoked") return undefined;
  const [hosts = "", type = "", key = ""] = fields;
  const isFor = readHostPattern(hosts);
  const blob = decodeBase64(key);
  if (isFor === undefined || blob === undefined || !/^[a-z0-9@.-]+$/.test(type)) return undefined;
  // The encoding of a key begins with its type.
  const encoded = Buffer.from(type, "latin1");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(encoded.length);
  const begins = Buffer.concat([length, encoded]);
  return begins.equals(blob.subarray(0, begins.length)) ? { marker, isFor, key } : undefined;
}
