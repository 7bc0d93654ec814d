import type { Clock } from "../../base/clock.ts";
import { type IpNetwork, isInNetwork, parseIp, sourceOf } from "../../base/names/ip-network.ts";
import { type Budget, type BudgetName, budgets, createLimiter } from "./limit.ts";

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
  return {
    allow(budget, ip) {
      if (budget === "none") return true;
      const address = parseIp(ip);
      if (budget !== "relaxed" && address !== undefined) {
        const network = networkOf(address);
        if (network !== undefined) return network.own[budget].allow(network.name);
      }
      return limiters[budget].allow(sourceOf(ip, address));
    },
  };
}

function budgetOf({ capacity, refill }: LimitedNetwork): Budget {
  return { capacity, tokensPerSecond: 1_000 / refill };
}
