import { advertiseUrlProblem } from "../../base/names/bus-url.ts";

/**
 * What keeps hosts of a token from the bus, and what to do about it.
 *
 * @param busUrl of a master that advertises no address of the bus; `undefined` where one is advertised
 * @returns `undefined` where other hosts may reach it
 */
export function judgeBus(busUrl: string | undefined): string | undefined {
  if (busUrl === undefined || advertiseUrlProblem(busUrl) === undefined) return undefined;
  return `only the host of the master can use this token, because the bus is at ${busUrl}: for other hosts, set bus_advertise_urls in the configuration of each master to a URL of the bus that they reach and that its certificate names, restart svc-master, and create another token`;
}
