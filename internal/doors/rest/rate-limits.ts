import type { Clock } from "../../base/clock.ts";
import { type IpNetwork, isInNetwork, parseIp, sourceOf } from "../../base/names/ip-network.ts";
import { type Budget, type BudgetName, budgets, createLimiter, type Limiter } from "./limit.ts";

/** A named network whose addresses share one budget for enrollment and one for sign-in, such as a site behind one address. */
export interface LimitedNetwork {
  readonly name: string;
  readonly cidr: readonly IpNetwork[];
  /** Requests at once. */
  readonly capacity: number;
  /** Milliseconds until one more request is allowed. */
  readonly refill: number;
}

/** The budgets of all clients, by their addresses. */
export interface RateLimits {
  allow(budget: BudgetName, ip: string): boolean;
  /** An address has again what it spent. */
  giveBack(budget: BudgetName, ip: string, count: number): void;
  /** The named network of an address. */
  networkOf(ip: string): string | undefined;
}

/** @param networks networks with a budget of their own for enrollment; of several the smallest range decides */
export function createRateLimits(networks: readonly LimitedNetwork[], clock: Clock): RateLimits {
  const limiters = {
    strict: createLimiter(budgets.strict, clock),
    relaxed: createLimiter(budgets.relaxed, clock),
    "sign-in": createLimiter(budgets["sign-in"], clock),
  };
  const named = networks
    .flatMap((network) => {
      const budget = budgetOf(network);
      const own = { strict: createLimiter(budget, clock), "sign-in": createLimiter(budget, clock) };
      return network.cidr.map((range) => ({ range, name: network.name, own }));
    })
    .sort((a, b) => b.range.bits - a.range.bits);
  const networkOf = (address: Uint8Array) => named.find(({ range }) => isInNetwork(address, range));
  /** The limiter that counts an address, and the name under which it does. */
  const counting = (budget: Exclude<BudgetName, "none">, ip: string): [Limiter, string] => {
    const address = parseIp(ip);
    const network = budget === "relaxed" || address === undefined ? undefined : networkOf(address);
    if (network !== undefined && budget !== "relaxed") return [network.own[budget], network.name];
    return [limiters[budget], sourceOf(ip, address)];
  };
  return {
    allow(budget, ip) {
      if (budget === "none") return true;
      const [limiter, source] = counting(budget, ip);
      return limiter.allow(source);
    },
    giveBack(budget, ip, count) {
      if (budget === "none") return;
      const [limiter, source] = counting(budget, ip);
      limiter.giveBack(source, count);
    },
    networkOf(ip) {
      const address = parseIp(ip);
      return address === undefined ? undefined : networkOf(address)?.name;
    },
  };
}

function budgetOf({ capacity, refill }: LimitedNetwork): Budget {
  return { capacity, tokensPerSecond: 1_000 / refill };
}
