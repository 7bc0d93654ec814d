import { quote } from "../../../base/cut.ts";
import { textOf } from "../../jinja/mod.ts";
import { Fault, type Value } from "../../jinja/values/mod.ts";
import { type Address, addressIn, networkOf, networkText } from "../addresses.ts";
import { type SaltFunction, saltFunction } from "./function.ts";

/** Functions that work with addresses that they are given; none looks at the host. */
export const networkFunctions: readonly SaltFunction[] = [
  saltFunction(
    "network.calc_net",
    ["ip_addr", "netmask?"],
    "Returns the network of an address: 192.0.2.0/24.",
    ([address, mask = null]) => {
      const text = textOf(address as Value);
      const found = networkText(mask === null ? text : `${text}/${textOf(mask)}`);
      if (found !== undefined) return found;
      throw new Fault(`network.calc_net: ${quote(text, 60)} is not in a network`);
    },
  ),
  saltFunction(
    "network.ip_in_subnet",
    ["ip_addr", "cidr"],
    "Returns whether an address is in a network.",
    ([address, cidr]) => {
      const [found, network] = [addressOf(address as Value), networkOf(textOf(cidr as Value))];
      const { first, isV6 } = networkOf(found.address);
      return isV6 === network.isV6 && first >= network.first && first < network.first + network.size;
    },
  ),
  saltFunction(
    "network.reverse_ip",
    ["ip_addr"],
    "Returns the name of an address in reverse DNS.",
    ([address]) => {
      const { version, address: text } = addressOf(address as Value);
      if (version === 4) return `${text.split(".").reverse().join(".")}.in-addr.arpa`;
      const digits = networkOf(text).first.toString(16).padStart(32, "0");
      return `${Array.from(digits).reverse().join(".")}.ip6.arpa`;
    },
  ),
];

/** @throws Fault for a text that is not an address */
function addressOf(value: Value): Address {
  const found = addressIn(value);
  if (found !== undefined && !found.text.includes("/")) return found;
  throw new Fault(`${quote(textOf(value), 60)} is not an address`);
}
