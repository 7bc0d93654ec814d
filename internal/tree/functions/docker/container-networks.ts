import { quote } from "../../../base/cut.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { StateFailure } from "../../function/mod.ts";
import { difference } from "./difference.ts";
import { isJson, type Json, nameProblem } from "./engine.ts";
import { textsOf } from "./translate.ts";

/** A network that a container must be in. */
export interface WantedNetwork {
  name: string;
  /** The settings of its endpoint, as Docker takes them. */
  endpoint: { readonly [key: string]: Plain };
}

/** `[front, {back: [{aliases: [db]}]}]`. @throws StateFailure */
export function wantedNetworks(value: Plain): WantedNetwork[] {
  const items: Plain[] = Array.isArray(value) ? value : isJson(value) ? [value] : textsOf("networks", value);
  return items
    .flatMap((item): [string, Plain][] =>
      isJson(item) ? Object.entries(item) : textsOf("networks", item).map((name) => [name, null]),
    )
    .map(([name, options]) => {
      const problem = nameProblem(name);
      if (problem !== undefined) throw new StateFailure(`networks: ${problem}`);
      return { name, endpoint: endpointOf(name, options) };
    });
}

/** Why a container has to enter a network again, as names of what differs, or that it is not in it. */
export function networkDifference({ name, endpoint }: WantedNetwork, container: Json): string[] {
  const settings: Json = isJson(container.NetworkSettings) ? container.NetworkSettings : {};
  const now = isJson(settings.Networks) ? settings.Networks[name] : undefined;
  if (!isJson(now)) return ["connected"];
  // Docker adds the identifier of the container to its aliases.
  const lacks = (key: string) => !list(endpoint[key]).every((each) => list(now[key]).includes(each));
  const addresses: Json = isJson(now.IPAMConfig) ? now.IPAMConfig : {};
  const wanted: Json = isJson(endpoint.IPAMConfig) ? endpoint.IPAMConfig : {};
  return [...["Aliases", "Links"].filter(lacks), ...difference(wanted, addresses)];
}

function endpointOf(network: string, options: Plain): { [key: string]: Plain } {
  const given: Json = Object.assign({}, ...(Array.isArray(options) ? options : [options ?? {}]));
  const { aliases, links, ipv4_address: ipv4, ipv6_address: ipv6, ...rest } = given;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new StateFailure(
      `networks: ${network}: ${quote(unknown, 40)} is not known; give aliases, links, ipv4_address or ipv6_address`,
    );
  }
  const addresses = {
    ...(ipv4 === undefined ? {} : { IPv4Address: String(ipv4) }),
    ...(ipv6 === undefined ? {} : { IPv6Address: String(ipv6) }),
  };
  return {
    ...(aliases === undefined ? {} : { Aliases: textsOf("aliases", aliases) }),
    ...(links === undefined ? {} : { Links: textsOf("links", links) }),
    ...(Object.keys(addresses).length === 0 ? {} : { IPAMConfig: addresses }),
  };
}

const list = (value: Plain | undefined) => (Array.isArray(value) ? value : []);
