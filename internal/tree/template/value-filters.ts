import { createHash } from "node:crypto";
import { isInNetwork, parseIp, parseIpNetwork } from "../../base/names/ip-network.ts";
import { type Filter, take, textOf } from "../jinja/mod.ts";
import { Fault, iterate, type Value, ValueMap } from "../jinja/values/mod.ts";
import { formatTime, timeIn } from "./time-text.ts";

/** The name space of Salt for names that become UUIDs. */
const saltUuids = Buffer.from("91633ebf1c865e33935a28061f4b480e", "hex");

const formatted =
  (name: string): Filter =>
  (value, args) => {
    const [format = "%Y-%m-%d"] = take(name, args, ["format?"]);
    return formatTime(timeIn(value, name), textOf(format));
  };

/** Filters of Salt that write a value in another form. */
export const valueFilters: Readonly<Record<string, Filter>> = {
  strftime: formatted("strftime"),
  date_format: formatted("date_format"),
  uuid: (value) => {
    const made = createHash("sha1").update(saltUuids).update(textOf(value)).digest().subarray(0, 16);
    made[6] = ((made[6] ?? 0) & 0x0f) | 0x50;
    made[8] = ((made[8] ?? 0) & 0x3f) | 0x80;
    return made.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  },
  mac_str_to_bytes: (value) => {
    const text = textOf(value);
    const digits = text.length === 17 ? text.replaceAll(text[2] ?? "", "") : text;
    if (!/^[0-9a-fA-F]{12}$/.test(digits))
      throw new Fault("mac_str_to_bytes: expected the address of a card");
    return Buffer.from(digits, "hex");
  },
  filter_by_networks: (value, args) => {
    const [wanted] = take("filter_by_networks", args, ["networks"]);
    if (wanted === null) return value;
    const networks = iterate(wanted as Value).map((each) => {
      const network = parseIpNetwork(textOf(each));
      if (network === undefined) throw new Fault("filter_by_networks: expected networks such as 10.0.0.0/8");
      return network;
    });
    const within = (addresses: Value): Value[] =>
      iterate(addresses).flatMap((address) => {
        const ip = parseIp(textOf(address));
        if (ip === undefined) throw new Fault("filter_by_networks: expected IP addresses");
        return networks.filter((network) => isInNetwork(ip, network)).map(() => address);
      });
    if (!(value instanceof ValueMap)) return within(value);
    return new ValueMap(
      [...value.entries()].map(([name, addresses]): [Value, Value] => [name, within(addresses)]),
    );
  },
};
