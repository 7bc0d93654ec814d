import { createBoundedMap } from "../../base/bounded-map.ts";

/** More peels than one fleet has. */
const maxKnown = 200_000;

/** From where peels connect, as the servers of the bus report it. */
export interface Addresses {
  /** Takes the address of a connection that began. @param address absent where the server does not report it */
  seen(peelId: string, address: string | undefined): void;
  /** That of the newest connection; `undefined` before the first one. */
  of(peelId: string): string | undefined;
}

/** Starts without any. */
export function createAddresses(): Addresses {
  const known = createBoundedMap<string>(2 * maxKnown);
  return {
    seen(peelId, address) {
      if (address !== undefined && address !== "") known.set(peelId, address);
    },
    of: (peelId) => known.get(peelId),
  };
}
