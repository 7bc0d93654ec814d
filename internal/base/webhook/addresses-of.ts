import { lookup } from "node:dns/promises";

/** The addresses of a host, as the system resolves its name. */
export async function addressesOf(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
